// Joins the devices with their owners whenever the devices or a fact about pods, jobs or
// containers has changed.
//
// attribution/join.h decides which device belongs to which owner.  This class decides when to join,
// and logs device ids that match no device and labels that rows do not carry.  An answer of the
// kubelet that is too old counts as no answer.  Tick thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "attribution/owner.h"
#include "attribution/owner_facts.h"
#include "facts/tick_facts.h"

namespace podgpu {

class OwnerJoin {
 public:
  explicit OwnerJoin(JoinOptions options) : options_(std::move(options)) {}

  // Sets `owners` and `younger_pods` of `facts`, once there is a reading.
  void Take(TickFacts& facts);

 private:
  void LogUnmatched(const Owners& owners) const;
  void LogUnmatchedOfContainers(const Owners& owners) const;
  void LogDroppedLabels(const std::vector<DroppedLabels>& dropped) const;

  const JoinOptions options_;
  std::shared_ptr<const Owners> owners_;  // Null before the first reading.
  OwnerFacts joined_facts_;
  uint64_t joined_epoch_ = 0;
};

}  // namespace podgpu
