// What each pod uses of a device that it shares: SM time and memory, for the rows that
// --kubernetes-virtual-gpus makes of DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED.
//
// The sum over the pod's processes on the GPU, or in the instance; 0 where it has none.  A pod
// whose uid nobody has told yet has no value, since nobody knows which processes are its.  In MIG
// mode the driver has no samples of SM time.  Who has values is found when owners or pods change;
// then only numbers do.  Tick thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "process/pod_book.h"
#include "process/process_table.h"
#include "usage/device_holders.h"
#include "view/view.h"

namespace podgpu {

class PodValues {
 public:
  // True when others than before have values.  There is a grid; `uuids` are those of the devices
  // with these numbers.
  bool Find(const TickFacts& facts, const std::vector<std::string>& uuids, const PodUids& uids,
            PodBook& book);

  uint32_t slot_count() const { return static_cast<uint32_t>(2 * users_.size()); }
  PodSlots SlotsFrom(uint32_t first_slot) const;
  // Appends two numbers of each.
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
