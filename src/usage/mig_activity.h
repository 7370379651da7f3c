// The activity of each MIG instance from DCGM's profiling fields, for readings in which the driver
// gives none: on boards with profiling and without GPM, such as the A100.
//
// The ledger divides energy by these weights: activity times slices times the time since the last
// reading, in the unit of NVML's own values (percent x slices x microseconds).  The fields are
// averages over the last collection interval, so a weight may be one interval old.  Either all
// instances of a GPU get a weight or none does.  Reuses its memory.  Tick thread only.
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
  // Looks up the instances of each device; `uuids` by device number.
  void Find(const Topology& topology, const std::vector<std::string>& uuids);

  // Fills device.instances from `grid` if they are empty.  `grid` has the topology given to Find.
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

  std::vector<Device> devices_;  // Devices by number; a GPU without instances has no parts.
};

// Ids of the fields that AddTo reads from the grid.
std::vector<uint16_t> MigActivityFieldIds();

}  // namespace podgpu
