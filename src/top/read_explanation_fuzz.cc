// Feeds bytes to the parser of explanations. Invariants: an error has one line; a parsed
// explanation is the same after writing and parsing it again.
#include <cstdint>
#include <string_view>

#include "top/read_explanation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto read =
      podgpu::ReadExplanation(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read.ok()) {
    PODGPU_CHECK(read.status().message().find('\n') == std::string_view::npos);
    return 0;
  }
  const std::string written = podgpu::ExplanationJson(*read);
  const auto again = podgpu::ReadExplanation(written);
  PODGPU_CHECK(again.ok() && podgpu::ExplanationJson(*again) == written);
  return 0;
}
