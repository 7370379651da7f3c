// Fuzzes the parser of range answers of Prometheus.  Invariants: an accepted answer has the number
// of values that was asked for, all of them finite; an error is one line.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/prometheus_range.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr podgpu::TimeRange kRange{.begin_s = 600, .step_s = 300, .count = 4};
  const auto values =
      podgpu::ReadPrometheusRange({reinterpret_cast<const char*>(data), size}, kRange);
  if (!values.ok()) {
    const std::string line(values.status().message());
    PODGPU_CHECK(!line.empty() && line.find('\n') == std::string::npos);
    return 0;
  }
  PODGPU_CHECK(values->size() == kRange.count);
  PODGPU_CHECK(std::ranges::all_of(
      *values, [](const auto& value) { return !value || std::isfinite(*value); }));
  return 0;
}
