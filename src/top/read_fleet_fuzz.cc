// Feeds bytes to the parser of the fleet. Invariants: an error has one line; the sums of a parsed
// fleet agree: no node has more idle or free GPUs than GPUs, no pod without a GPU is left.
#include <cstdint>
#include <string_view>

#include "top/read_fleet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto fleet = podgpu::ReadFleet(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!fleet.ok()) {
    PODGPU_CHECK(fleet.status().message().find('\n') == std::string_view::npos);
    return 0;
  }
  for (const podgpu::FleetNodeRow& node : fleet->nodes) {
    PODGPU_CHECK(node.idle <= node.gpus && node.held + node.free <= node.gpus);
    PODGPU_CHECK(node.bad <= node.gpus);
  }
  for (const podgpu::FleetPodRow& pod : fleet->pods) {
    PODGPU_CHECK(pod.gpus > 0 && pod.idle_gpus <= pod.gpus);
    PODGPU_CHECK((pod.idle_gpus > 0) == pod.idle_since_s.has_value());
  }
  return 0;
}
