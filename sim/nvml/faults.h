// What the faults in force do to the simulated NVML: to calls, GPUs and values.
//
// The symptoms: docs/simulator.md, "What goes wrong".  A fault names calls by pattern, or the DCGM
// fields of values; a call that answers several values at once fails as a whole when one of them
// does.  Positive codes of an `error` are NVML's, negative ones DCGM's.  Part of the
// face: standard library only.  Pure functions of world and time, but for the one that waits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/nvml.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// Waits and answers as the faults in force want; `gpu` is the world's, -1 for a call about none.
abi::nvmlReturn_t MeetNvmlFaults(std::string_view call, int gpu);

// Whether the GPU is off the bus, or the driver has let go of it.
bool IsNvmlGpuGone(const World& world, int gpu, TimeUs t);

// The code in place of a value that feeds the DCGM fields; NVML_SUCCESS when it may be told.
abi::nvmlReturn_t NvmlValueFault(const World& world, int gpu, std::span<const uint16_t> fields,
                                 TimeUs t);
// Whether the value, or whatever `call` fills, is garbage.
bool IsNvmlGarbage(const World& world, std::string_view call, int gpu,
                   std::span<const uint16_t> fields, TimeUs t);

// Sleeps, whatever signals come, as a call in the kernel does.
void SleepInDriver(int ms);

}  // namespace podgpu::sim
