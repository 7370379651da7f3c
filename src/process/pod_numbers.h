// Maps pod uids to numbers.
//
// The tick looks up accounts of pods, which is faster with a number than with a text. A number is
// never used for a second pod. A pod that was unused for a while is forgotten; otherwise this would
// grow with every pod that the node has ever run. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "process/keys.h"

namespace podgpu {

class PodNumbers {
 public:
  // Returns the number of a pod, assigning one if needed; kNoPod for an empty uid.
  PodNumber NumberOf(std::string_view uid, Instant now);

  // Returns empty for an unknown number.
  std::string_view UidOf(PodNumber pod) const;

  // Records that the pod existed at `at`. Ignores kNoPod and forgotten pods.
  void Use(PodNumber pod, Instant at);

  // Removes the pods that were unused for `after` and adds them to `forgotten`.
  void Forget(Instant now, Duration after, std::vector<PodNumber>& forgotten);

 private:
  struct Entry {
    std::string uid;
    Instant used_at;
  };

  std::map<std::string, PodNumber, std::less<>> numbers_;
  std::map<PodNumber, Entry> entries_;
  uint32_t last_ = 0;
};

}  // namespace podgpu
