// Where the tick asks for DCGM's own energy of processes, and where the source thread tells it.
//
// DCGM says of a process what its whole GPU drew while the process lived: no share of it, and for
// each of several processes the same anew.  So it is never mixed with what the ledger charges.
// Each side has one value that it sets; any thread reads.  Shared by both, who come and go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/published.h"
#include "process/keys.h"

namespace podgpu {

// What DCGM says of a process on one GPU.
struct DcgmEnergy {
  uint32_t pid = 0;
  std::string uuid;  // Of the GPU.
  uint64_t energy_mj = 0;
  Instant at;  // When it was asked.
};

// The same by the number of the device.
struct DcgmEnergyOnDevice {
  uint32_t pid = 0;
  DeviceNumber device;
  uint64_t energy_mj = 0;
};

struct DcgmEnergyBoard {
  Published<std::vector<uint32_t>> asked;  // Pids that have rows, each once.
  Published<std::vector<DcgmEnergy>> told;
};

}  // namespace podgpu
