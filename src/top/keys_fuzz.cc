// Feeds bytes to the key decoder. Invariants: in one piece or in two, the bytes give the same keys;
// at most one key per byte; what waits is bounded; letters are printable.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "top/keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  podgpu::KeyDecoder whole;
  const std::vector<podgpu::KeyPress> keys = whole.Take(bytes);
  PODGPU_CHECK(keys.size() <= size);
  for (const podgpu::KeyPress& key : keys) {
    PODGPU_CHECK(key.key != podgpu::Key::kText || (key.letter >= ' ' && key.letter <= '~'));
  }
  podgpu::KeyDecoder parted;
  std::vector<podgpu::KeyPress> again = parted.Take(bytes.substr(0, size / 2));
  const std::vector<podgpu::KeyPress> second = parted.Take(bytes.substr(size / 2));
  again.insert(again.end(), second.begin(), second.end());
  constexpr size_t kLongestSequence = 32;
  PODGPU_CHECK(size > kLongestSequence || again == keys);
  PODGPU_CHECK(whole.Flush().size() <= 1 && !whole.is_waiting());
  return 0;
}
