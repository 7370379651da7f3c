// What the faults in force do to the simulated NVML: to calls, GPUs and values.
//
// docs/simulator.md lists the symptoms.  A fault names calls
// by pattern, or the DCGM fields of values; a call that answers several values at once fails as a
// whole when one of them fails.  Positive codes of an `error` fault are NVML's, negative ones
// DCGM's.  Part of the face: standard library only.  Pure functions of world and time, except the
// one that waits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/nvml.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// Blocks and answers as the faults in force say; `gpu` is the world's, -1 for a call without one.
abi::nvmlReturn_t ApplyNvmlFaults(std::string_view call, int gpu);

// Whether the GPU is off the bus, or the driver has unbound it.
bool IsNvmlGpuGone(const World& world, int gpu, TimeUs t);

// The code in place of a value of these DCGM fields; NVML_SUCCESS when the value is available.
abi::nvmlReturn_t NvmlValueFault(const World& world, int gpu, std::span<const uint16_t> fields,
                                 TimeUs t);
// Whether the value, or everything that `call` fills, is garbage.
bool IsNvmlGarbage(const World& world, std::string_view call, int gpu,
                   std::span<const uint16_t> fields, TimeUs t);

// Sleeps for the whole time, also when signals arrive, as a call in the kernel does.
void SleepInDriver(int ms);

}  // namespace podgpu::sim
