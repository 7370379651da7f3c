// The truth of a simulated node: what each device and each process really consumed.
//
// No vendor library tells this; `podgpu-sim truth` does, so that a method of sharing a device's
// energy among its processes can be measured against it.  Every amount is an exact integer, written
// as a decimal string since JSON numbers are doubles to many readers.  Pure function of the world.
#pragma once

#include <string>

#include "sim/world/world.h"

namespace podgpu::sim {

// One JSON object for the time from `from` to `at`, in nJ:
//   gpus: energy = idle + noise + what its processes drew, exactly;
//   processes: everyone that lived meanwhile: energy (dynamic), resident_idle (an equal share,
//   rounded down, of the idle energy of its GPU while it was there).
std::string TruthJson(const World& world, TimeUs from, TimeUs at);

}  // namespace podgpu::sim
