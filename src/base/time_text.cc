#include "base/time_text.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

}  // namespace

std::string Rfc3339(int64_t unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                         parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string TimeOfDay(int64_t unix_ms, int64_t utc_offset_s) {
  const int64_t day = ((unix_ms + utc_offset_s * kSecond) % kDay + kDay) % kDay;
  return absl::StrFormat("%02d:%02d:%02d", day / kHour, day % kHour / kMinute,
                         day % kMinute / kSecond);
}

std::string SpanText(int64_t ms) {
  ms = std::max<int64_t>(ms, 0);
  if (ms < kMinute) {
    return absl::StrFormat("%ds", ms / kSecond);
  }
  if (ms < kHour) {
    return absl::StrFormat("%dm%02ds", ms / kMinute, ms % kMinute / kSecond);
  }
  if (ms < kDay) {
    return absl::StrFormat("%dh%02dm", ms / kHour, ms % kHour / kMinute);
  }
  return absl::StrFormat("%dd%dh", ms / kDay, ms % kDay / kHour);
}

}  // namespace podgpu
