// Fuzzes the parser of node files.  Invariants: accepted addresses can be written and parsed again
// with the same result; an error is one clean line that names the file.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cluster/node_address.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto addresses = podgpu::ParseNodeFile(bytes, "nodes");
  if (!addresses.ok()) {
    const std::string line(addresses.status().message());
    PODGPU_CHECK(line.starts_with("nodes:") && line.find('\n') == std::string::npos);
    PODGPU_CHECK(podgpu::CleanUtf8(line) == line);
    return 0;
  }
  std::string again;
  for (const podgpu::HostAndPort& address : *addresses) {
    again += podgpu::ToString(address) + "\n";
  }
  PODGPU_CHECK(podgpu::ParseNodeFile(again, "nodes").value() == *addresses);
  return 0;
}
