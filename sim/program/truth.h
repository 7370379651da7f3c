// The truth of a simulated node: what each device and each process really consumed.
//
// No vendor library reports this.  `podgpu-sim truth` prints it, so a method of dividing a device's
// energy among its processes can be compared with it.  Every amount is an exact integer, written as
// a decimal string, since many readers store JSON numbers as doubles.  Pure function of the world.
#pragma once

#include <string>

#include "sim/world/world.h"

namespace podgpu::sim {

// One JSON object for the time from `from` to `at`, in nJ:
//   gpus: energy = idle + noise + what its processes drew, exactly;
// processes: each process that lived then: energy (dynamic), resident_idle (an equal share, rounded
// down, of the idle energy of its GPU while it lived).
std::string TruthJson(const World& world, TimeUs from, TimeUs at);

}  // namespace podgpu::sim
