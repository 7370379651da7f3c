// Feeds bytes to the parser of a node's status. Invariants: a parsed status is the same after
// writing and parsing it twice, since the writer rounds once; an error has one line.
#include <cstdint>
#include <string_view>

#include "report/node_status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const podgpu::StatusOr<podgpu::NodeStatus> status = podgpu::ReadNodeStatus(bytes);
  if (!status.ok()) {
    PODGPU_CHECK(!status.status().message().empty());
    PODGPU_CHECK(status.status().message().find('\n') == std::string_view::npos);
    return 0;
  }
  PODGPU_CHECK(!status->node.empty() && status->gpus.size() <= 256);
  const auto rounded = podgpu::ReadNodeStatus(podgpu::WriteNodeStatus(*status));
  PODGPU_CHECK(rounded.ok());
  const auto again = podgpu::ReadNodeStatus(podgpu::WriteNodeStatus(*rounded));
  PODGPU_CHECK(again.ok() && *again == *rounded);
  return 0;
}
