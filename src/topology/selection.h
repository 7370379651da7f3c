// Selects the devices to show: dcgm-exporter's device strings (-d, -s, -p) "f", "g:0,2-4", "i",
// "g:0+i:7".
//
// Grammar and messages are those of dcgm-exporter. `f` shows each GPU's instances, or the GPU if it
// has none; `g` shows GPUs; `i` shows GPU instances, by DCGM's entity id. A sum shows GPUs and then
// instances. For switches and CPUs, `g` shows themselves, `f` and a sum also their links or cores,
// `i` nothing. The links of GPUs are shown with the GPUs. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "topology/topology.h"

namespace podgpu {

// First and last id, both included.
struct IdRange {
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const IdRange&) const = default;
};

struct IdList {
  bool all = true;              // True: no list was given.
  std::vector<IdRange> ranges;  // In the given order.
  bool operator==(const IdList&) const = default;
};

struct DeviceSelection {
  enum class Kind : uint8_t { kFlexible, kGpus, kInstances, kGpusAndInstances };
  Kind kind = Kind::kFlexible;
  IdList gpus;       // After g: the GPUs, switches or CPUs.
  IdList instances;  // After i: the GPU instances, links or cores.
  bool has_list() const { return !gpus.all || !instances.all; }
  bool operator==(const DeviceSelection&) const = default;
};

// Parses a device string.  kInvalidArgument in the words of dcgm-exporter, which name no remedy.
StatusOr<DeviceSelection> ParseDeviceSelection(std::string_view text);

// The result of a selection on this node.
struct SelectedEntities {
  std::vector<EntityId> entities;  // In row order, each once.
  // Message when a listed id is absent; then nothing is selected.
  std::string missing;
};

SelectedEntities SelectEntities(const DeviceSelection& selection, const Topology& topology);

// The three device strings.
struct DeviceSelections {
  DeviceSelection gpus;      // -d
  DeviceSelection switches;  // -s
  DeviceSelection cpus;      // -p
  bool operator==(const DeviceSelections&) const = default;
};

// The selected rows of each kind, in order.
struct SelectedRows {
  std::vector<EntityId> devices, switches, links, cpus, cores;
  std::vector<std::string> missing;  // One message per kind with an absent id.
};

SelectedRows SelectRows(const DeviceSelections& selections, const Topology& topology);

}  // namespace podgpu
