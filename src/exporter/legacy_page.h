// The per-pod page of pod-gpu-metrics-exporter, made from what the main page shows when it is
// wanted.
//
// Nobody pays for it who does not ask: the tick knows nothing of it.  The plan is made once per
// epoch and set of owners, the bytes once per reading.  One thread each: the HTTP thread has one,
// the writer of text files its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exposition/snapshot.h"

namespace podgpu {

class LegacyPage {
 public:
  // `with_pods`: the labels of the pod stand on the rows of its GPU.
  explicit LegacyPage(bool with_pods) : with_pods_(with_pods) {}

  // The page of the reading that `main` shows; null while there has been none.
  std::shared_ptr<const Snapshot> Of(const std::shared_ptr<const Snapshot>& main);

 private:
  bool PlanFits(const SnapshotParts& parts) const;
  void MakePlan(const SnapshotParts& parts);

  const bool with_pods_;
  std::shared_ptr<const SeriesPlan> plan_;
  std::shared_ptr<const Owners> planned_owners_;
  std::vector<const Field*> planned_fields_;
  uint64_t planned_epoch_ = 0;
  std::shared_ptr<const Snapshot> page_;  // The only grid that is held here is its own.
};

}  // namespace podgpu
