// SM time and memory that each pod uses of a shared device, for the rows of DCGM_FI_DEV_GPU_UTIL
// and DCGM_FI_DEV_FB_USED per pod (--kubernetes-virtual-gpus).
//
// A value is the sum over the pod's processes on the GPU, or in the instance; 0 if it has none.  A
// pod whose uid is not known yet has no value, since its processes cannot be recognised.  In MIG
// mode the driver has no samples of SM time.  The set of pods is made again when owners or pods
// change; between such changes only the numbers change.  Tick thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "process/pod_numbers.h"
#include "process/process_table.h"
#include "usage/device_holders.h"
#include "view/view.h"

namespace podgpu {

class PodValues {
 public:
  // Returns whether the set of pods with values has changed.  `facts.grid` is not null; `uuids` by
  // device number.
  bool Find(const TickFacts& facts, const std::vector<std::string>& uuids, const PodUids& uids,
            PodNumbers& numbers);

  uint32_t slot_count() const { return static_cast<uint32_t>(2 * users_.size()); }
  PodSlots SlotsFrom(uint32_t first_slot) const;
  // Appends two numbers per user.
  void AppendTo(const ProcessTable& table, std::vector<Value>& slots) const;

 private:
  struct User {
    std::string pod_namespace, pod_name;
    uint16_t column = 0;
    uint32_t instance = kWholeGpu;
    DeviceNumber device;
    PodNumber pod;
    auto operator<=>(const User&) const = default;
  };

  std::vector<User> users_;  // Ascending, each once.
};

}  // namespace podgpu
