// How active the instances of a partitioned GPU were, by DCGM's profiling fields, for readings in
// which the driver says nothing of it: on boards that profile and have no GPM, such as the A100.
//
// Weights that the ledger shares energy by: activity times slices times the time since the last
// reading, in the unit of NVML's own (percent x slices x microseconds).  The fields are averages of
// the collection interval that has just ended, so that a weight is as old as that.  Of all
// instances of a GPU or of none.  Keeps its memory.  Tick thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/process_reading.h"
#include "sample/grid.h"
#include "topology/topology.h"

namespace podgpu {

class MigActivity {
 public:
  // Takes the instances of the devices with these numbers.
  void Find(const Topology& topology, const std::vector<std::string>& uuids);

  // Fills device.instances where they are empty, from `grid`, which is of the topology of Find.
  void AddTo(const Grid& grid, DeviceReading& device);

 private:
  struct Part {
    EntityId entity;
    uint32_t instance = 0;
    uint32_t slices = 1;
  };
  struct Device {
    std::vector<Part> parts;
    std::optional<Instant> read_at;
  };

  std::vector<Device> devices_;  // By number; those of whole GPUs have no parts.
};

// The fields that it looks for in the grid.
std::vector<uint16_t> MigActivityFieldIds();

}  // namespace podgpu
