#include "sim/dcgm/fabric.h"

#include <algorithm>

namespace podgpu::sim {
namespace {

int MostLinks(const World& world) {
  int most = 0;
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    most = std::max(most, world.gpu(gpu).nvlink_count);
  }
  return most;
}

// Ports of each switch that are reserved for one GPU.
int PortsPerGpu(const World& world) {
  const int switches = world.nvswitch_count();
  return switches == 0 ? 0 : (MostLinks(world) + switches - 1) / switches;
}

}  // namespace

int PortCount(const World& world) { return PortsPerGpu(world) * world.gpu_count(); }

GpuLink AtPort(const World& world, int nvswitch, int port) {
  if (port < 0 || port >= PortCount(world)) {
    return {};
  }
  const int per_gpu = PortsPerGpu(world);
  const int gpu = port / per_gpu;
  const int link = port % per_gpu * world.nvswitch_count() + nvswitch;
  return link < world.gpu(gpu).nvlink_count ? GpuLink{gpu, link} : GpuLink{};
}

int CpuCount(const World& world) {
  int count = 0;
  while (world.cpu_cores(count) > 0) {
    ++count;
  }
  return count;
}

int FirstCore(const World& world, int cpu) {
  int first = 0;
  for (int before = 0; before < cpu; ++before) {
    first += world.cpu_cores(before);
  }
  return first;
}

int CoreCount(const World& world) { return FirstCore(world, CpuCount(world)); }

int CpuOfCore(const World& world, int core) {
  for (int cpu = 0; core >= 0 && world.cpu_cores(cpu) > 0; ++cpu) {
    if (core < FirstCore(world, cpu + 1)) {
      return cpu;
    }
  }
  return -1;
}

}  // namespace podgpu::sim
