#include "top/silence.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "top/canvas.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

// What follows the name.
std::string Rest(const Silence& silence, const std::string& cause) {
  constexpr int64_t kSecond = 1'000;
  const int64_t silent = std::max<int64_t>(silence.silent_for_ms, 0) / kSecond;
  const int64_t next = (std::max<int64_t>(silence.next_try_in_ms, 0) + kSecond - 1) / kSecond;
  return absl::StrFormat("no %s for %d s%s, %s", silence.has_answered ? "status" : "answer", silent,
                         cause,
                         next > 0 ? absl::StrFormat("next try in %d s", next) : "trying now");
}

}  // namespace

std::string SilenceText(const Silence& silence) {
  return absl::StrFormat("podgpu top %s  %s", silence.name,
                         Rest(silence, " (" + silence.failure + ")"));
}

std::string SilenceHead(const Silence& silence, size_t columns, std::string& cause) {
  std::string text = SilenceText(silence);
  if (WidthOf(text) <= columns) {
    return text;
  }
  cause = SentenceWords(silence.failure);
  const std::string rest = Rest(silence, "");
  constexpr std::string_view kBefore = "podgpu top ";
  const size_t around = kBefore.size() + 2 + rest.size();
  if (WidthOf(silence.name) + around <= columns) {
    return absl::StrFormat("%s%s  %s", kBefore, silence.name, rest);
  }
  constexpr size_t kLeastName = 4;
  return around + kLeastName <= columns
             ? absl::StrFormat("%s%s  %s", kBefore, CutTo(silence.name, columns - around), rest)
             : absl::StrFormat("podgpu top  %s", rest);
}

}  // namespace podgpu
