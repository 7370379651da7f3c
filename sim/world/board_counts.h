// The error counters of a board at a time: memory errors, PCIe replays, link errors.
//
// Each counter is the sum of the faults that raise it; counters that the driver keeps restart from
// 0 when the driver is reloaded.  Part of the face: standard library only.  Pure functions of world
// and time; any thread.
#pragma once

#include <cstdint>

#include "sim/world/world.h"

namespace podgpu::sim {

// Fields 310 to 345: the driver's counters, or with `aggregate` those that the board stores.
int64_t EccCount(const World& world, int gpu, uint16_t field, TimeUs t);
// Double-bit errors: in total, and since the driver was loaded.
int64_t DoubleBitErrors(const World& world, int gpu, TimeUs t);
int64_t DoubleBitErrorsOfDriver(const World& world, int gpu, TimeUs t);

int64_t PcieReplays(const World& world, int gpu, TimeUs t);
// The PCIe link's value under the fault in force; `otherwise` without such a fault.
int64_t PcieNow(const World& world, int gpu, FaultNumber what, int64_t otherwise, TimeUs t);

// Errors of a link that `field` (400 to 499, 1525 to 1528) counts; a negative `link` means all
// links.
int64_t LinkErrorCount(const World& world, int gpu, int link, uint16_t field, TimeUs t);
bool IsLinkDown(const World& world, int gpu, int link, TimeUs t);

}  // namespace podgpu::sim
