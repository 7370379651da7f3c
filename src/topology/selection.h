// Which devices are shown: dcgm-exporter's device strings (-d, -s, -p), "f", "g:0,2-4", "i", and
// our "g+i".
//
// Grammar and messages are dcgm-exporter's: `f` shows each GPU's
// instances, or the GPU where there are none; `g` GPUs; `i` GPU instances, by DCGM's entity id.
// "g+i", which upstream documents and refuses, shows GPUs and then instances.  Of switches and CPUs
// `g` shows themselves, `f` and "g+i" their links or cores too, `i` nothing.  The links of GPUs go
// with the GPUs.  Pure functions; any thread.
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

struct DeviceSelection {
  enum class Kind : uint8_t { kFlexible, kGpus, kInstances, kGpusAndInstances };
  Kind kind = Kind::kFlexible;
  bool all = true;              // No list was given.
  std::vector<IdRange> ranges;  // In the order given; may be empty and then selects nothing.
  bool operator==(const DeviceSelection&) const = default;
};

// Reads a device string.  kInvalidArgument with dcgm-exporter's own text.
StatusOr<DeviceSelection> ParseDeviceSelection(std::string_view text);

// What a selection comes to on this node.
struct SelectedEntities {
  std::vector<EntityId> entities;  // In row order, each once.
  // When a listed id is not there, nothing is selected, and this is the line that says so.
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

// The rows of each kind, in their order.
struct SelectedRows {
  std::vector<EntityId> devices, switches, links, cpus, cores;
  std::vector<std::string> missing;  // A line for each kind of which a listed id is not there.
};

SelectedRows SelectRows(const DeviceSelections& selections, const Topology& topology);

}  // namespace podgpu
