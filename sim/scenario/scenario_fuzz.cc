// Any text gives a scenario or a list of errors, each with its place; every scenario gives a world.
//
// The text after the first line "# control" is the control log.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "sim/scenario/compile.h"
#include "sim/world/world.h"

namespace {

using podgpu::sim::DeviceRef;
using podgpu::sim::Fault;
using podgpu::sim::Int128;
using podgpu::sim::Integral;
using podgpu::sim::ProcessLife;
using podgpu::sim::TimeUs;
using podgpu::sim::World;

void Require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// "a.yaml:12:3: words", on one line.
bool HasPlace(std::string_view line, std::string_view file) {
  if (!line.starts_with(file) || line.find('\n') != std::string_view::npos) {
    return false;
  }
  line.remove_prefix(file.size());
  for (int number = 0; number < 2; ++number) {
    const size_t digits = line.empty() ? 0 : line.find_first_not_of("0123456789", 1);
    if (line.empty() || line[0] != ':' || digits == std::string_view::npos || digits < 2) {
      return false;
    }
    line.remove_prefix(digits);
  }
  return line.starts_with(": ") && line.size() > 2;
}

class Counter final : public podgpu::sim::PodVisitor {
 public:
  void Pod(const podgpu::sim::PodFacts& pod) override { bytes += pod.name.size(); }
  void Container(const podgpu::sim::ContainerFacts& container) override {
    bytes += container.container_id.size();
  }
  void Device(const podgpu::sim::PodDevice& device) override { bytes += device.device_id.size(); }
  size_t bytes = 0;
};

// Faults end after they begin, are sorted, and InForce() agrees with begin and end.
void ReadFaults(const World& world) {
  TimeUs before = 0;
  for (const Fault& fault : world.faults()) {
    Require(fault.at >= before && fault.until > fault.at);
    Require(world.FaultAt(fault.kind, fault.at) != nullptr);
    Require(fault.gpu < world.gpu_count());
    Require(world.NextFaultChange(fault.at - 1) == fault.at);
    before = fault.at;
  }
  Require((world.fault_kinds() == 0) == world.faults().empty());
}

void Read(const World& world) {
  ReadFaults(world);
  for (const TimeUs t :
       {TimeUs{0}, TimeUs{1}, 61 * podgpu::sim::kSecondUs, 40'000'000 * podgpu::sim::kSecondUs}) {
    Counter counter;
    world.VisitPods(t, counter);
    world.VisitAllocatable(t, counter);
    Require(world.NextPodChange(t) > t);
    const int count = world.process_count(t);
    for (int i = 0; i < count; ++i) {
      const std::optional<ProcessLife> life = world.FindProcess(world.process(i, t).pid, t);
      Require(life && life->started <= t && life->stopped > t);
    }
    for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
      const DeviceRef whole{.gpu = gpu};
      Require(world.Integrate(Integral::kEnergyNj, whole, t) >=
              world.Integrate(Integral::kEnergyNj, whole, t / 2));
      Require(world.UtilizationPercent(Integral::kSmPpmUs, whole, t) <= 100);
      Require(world.TemperatureC(gpu, t) >= 0);
      Require(world.PowerInstantMw(gpu, t) >= 0);
      Require(world.MemoryUsedBytes(whole, t) <= world.gpu(gpu).memory_total_bytes);
      for (const ProcessLife& life : world.EndedProcesses(gpu, -1, t, 3)) {
        Require(life.started < life.stopped && life.stopped <= t);
        Require(life.peak_memory_bytes <= world.gpu(gpu).memory_total_bytes);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kMark = "\n# control\n";
  const size_t mark = all.find(kMark);
  const std::string_view scenario = all.substr(0, mark);
  const std::string_view control =
      mark == std::string_view::npos ? "" : all.substr(mark + kMark.size());
  const auto result = podgpu::sim::CompileScenario(scenario, "a.yaml", control, "b.yaml");
  for (const std::string& line : result.errors) {
    Require(HasPlace(line, "a.yaml") || HasPlace(line, "b.yaml"));
  }
  Require(result.errors.empty() != result.image.empty());
  if (result.errors.empty()) {
    // One text gives one world: no state of this process and no hash order may enter an image.
    const auto again = podgpu::sim::CompileScenario(scenario, "a.yaml", control, "b.yaml");
    Require(again.image == result.image);
    std::string error;
    const auto world = World::Open(result.image, error);
    Require(world != nullptr);
    Read(*world);
  }
  return 0;
}
