#include "top/silence.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {

std::string SilenceText(const Silence& silence) {
  constexpr int64_t kSecond = 1'000;
  const int64_t silent = std::max<int64_t>(silence.silent_for_ms, 0) / kSecond;
  const int64_t next = (std::max<int64_t>(silence.next_try_in_ms, 0) + kSecond - 1) / kSecond;
  return absl::StrFormat("podgpu top %s  no answer for %d s (%s), next try in %d s", silence.name,
                         silent, silence.failure, next);
}

}  // namespace podgpu
