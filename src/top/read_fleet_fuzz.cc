// Feeds bytes to the parser of the fleet: an answer, and after a newline the one that follows it,
// which may have only the columns that change. Invariants: an error has one line; the sums of a
// parsed fleet agree: no node has more idle or free GPUs than GPUs, no pod without a GPU is left.
#include <cstdint>
#include <string_view>

#include "top/read_fleet.h"

namespace {

void CheckFleet(const podgpu::StatusOr<podgpu::FleetStatus>& fleet) {
  if (!fleet.ok()) {
    PODGPU_CHECK(fleet.status().message().find('\n') == std::string_view::npos);
    return;
  }
  for (const podgpu::FleetNodeRow& node : fleet->nodes) {
    PODGPU_CHECK(node.idle <= node.gpus && node.held + node.free <= node.gpus);
    PODGPU_CHECK(node.bad <= node.gpus);
  }
  for (const podgpu::FleetPodRow& pod : fleet->pods) {
    PODGPU_CHECK(pod.gpus > 0 && pod.idle_gpus <= pod.gpus);
    PODGPU_CHECK((pod.idle_gpus > 0) == pod.idle_since_s.has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  podgpu::FleetColumns columns;
  CheckFleet(columns.Take(bytes.substr(0, line)));
  PODGPU_CHECK(columns.epoch().find('&') == std::string::npos);
  CheckFleet(columns.Take(bytes.substr(line)));
  return 0;
}
