// Fuzzes the query of /api/v1/in-use.  Invariants: an accepted window is one that the samples can
// answer; an error is one line.
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/in_use_query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::chrono::minutes kLongest{1};
  const auto query = podgpu::ParseInUseQuery({reinterpret_cast<const char*>(data), size}, kLongest);
  if (query.ok()) {
    PODGPU_CHECK(query->window >= std::chrono::seconds(10) && query->window <= kLongest);
  } else {
    const std::string line(query.status().message());
    PODGPU_CHECK(!line.empty() && line.find('\n') == std::string::npos);
  }
  return 0;
}
