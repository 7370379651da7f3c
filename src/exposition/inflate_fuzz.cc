// Fuzzes the decompressor of node reports.  Invariants: the result never exceeds the limit; the
// result can be compressed and decompressed again.
#include <cstdint>
#include <string_view>

#include "exposition/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostBytes = 100'000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const podgpu::StatusOr<std::string> text = podgpu::Inflate(bytes, kMostBytes);
  if (text.ok()) {
    PODGPU_CHECK(text->size() <= kMostBytes);
    PODGPU_CHECK(podgpu::Inflate(podgpu::Gzip(*text), kMostBytes).value() == *text);
  }
  return 0;
}
