// Numbers for pods, by uid.
//
// Accounts of pods are looked up each tick, for which a number is quicker than a text.  No number
// is given twice.  A pod that nobody has used for a while is forgotten, so that the book does not
// grow with every pod that a node has ever run.  One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "process/keys.h"

namespace podgpu {

class PodBook {
 public:
  // The number of a pod, a new one if need be; kNoPod for an empty uid.
  PodNumber NumberOf(std::string_view uid, Instant now);

  // Empty for a number that is not in the book.
  std::string_view UidOf(PodNumber pod) const;

  // Says that the pod is there, or was there at `at`; kNoPod and forgotten ones may be said, too.
  void Use(PodNumber pod, Instant at);

  // Takes out, and adds to `forgotten`, whoever was not used for `after`.
  void Forget(Instant now, Duration after, std::vector<PodNumber>& forgotten);

 private:
  struct Page {
    std::string uid;
    Instant used_at;
  };

  std::map<std::string, PodNumber, std::less<>> numbers_;
  std::map<PodNumber, Page> pages_;
  uint32_t last_ = 0;
};

}  // namespace podgpu
