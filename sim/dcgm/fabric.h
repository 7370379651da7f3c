// The wiring of the simulated node's switches, and the CPU of each core.
//
// Link l of a GPU leads to switch l modulo the number of switches; a switch's ports are numbered by
// GPU, then by link.  Cores are numbered through all CPUs.  Part of the face: standard library
// only. Pure functions of the world; any thread.
#pragma once

#include "sim/world/world.h"

namespace podgpu::sim {

// The other end of a switch's link; gpu is -1 where nothing is connected.
struct GpuLink {
  int gpu = -1;
  int link = -1;
};

// Ports of each switch, connected or not; 0 without links or switches.
int PortCount(const World& world);
// The other end of port `port` of switch `nvswitch`.
GpuLink AtPort(const World& world, int nvswitch, int port);

int CpuCount(const World& world);
int CoreCount(const World& world);
int FirstCore(const World& world, int cpu);
// The CPU of a core; -1 when there is no such core.
int CpuOfCore(const World& world, int core);

}  // namespace podgpu::sim
