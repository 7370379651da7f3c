// Fuzzes the parser of label selectors. Invariants: a parsed selector is the same after it is
// written and parsed again; an error is one clean line.
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "metrics_api/values/label_selector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto selector = podgpu::ParseLabelSelector(text);
  if (!selector.ok()) {
    const std::string line(selector.status().message());
    PODGPU_CHECK(!line.empty() && line.find('\n') == std::string::npos);
    PODGPU_CHECK(podgpu::CleanUtf8(line) == line);
    return 0;
  }
  const auto again = podgpu::ParseLabelSelector(podgpu::ToString(*selector));
  PODGPU_CHECK(again.ok() && *again == *selector);
  return 0;
}
