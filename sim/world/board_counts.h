// What faults have counted by a time: memory errors, PCIe replays, link errors.
//
// Each counter is the sum of the faults that step it; those that the driver keeps begin anew with
// it.  Part of the face: standard library only.  Pure functions of world and time; any thread.
#pragma once

#include <cstdint>

#include "sim/world/world.h"

namespace podgpu::sim {

// Fields 310 to 345; what the driver counts, or with `aggregate` what the board remembers.
int64_t EccCount(const World& world, int gpu, uint16_t field, TimeUs t);
// Double-bit errors, ever and since the driver was loaded.
int64_t DoubleBitErrors(const World& world, int gpu, TimeUs t);
int64_t DoubleBitErrorsOfDriver(const World& world, int gpu, TimeUs t);

int64_t PcieReplays(const World& world, int gpu, TimeUs t);
// What the fault in force says of the PCIe link; `otherwise` without one.
int64_t PcieNow(const World& world, int gpu, FaultNumber what, int64_t otherwise, TimeUs t);

// Errors of a link that `field` (400 to 499, 1525 to 1528) counts; of all links with `link` below
// 0.
int64_t LinkErrorCount(const World& world, int gpu, int link, uint16_t field, TimeUs t);
bool IsLinkDown(const World& world, int gpu, int link, TimeUs t);

}  // namespace podgpu::sim
