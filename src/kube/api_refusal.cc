#include "kube/api_refusal.h"

#include <algorithm>

#include "base/text.h"

namespace podgpu {

Status StatusOfAnswer(int code, const std::string& sentence) {
  switch (code) {
    case 401:
      return absl::UnauthenticatedError(sentence);
    case 403:
      return absl::PermissionDeniedError(sentence);
    case 404:
      return absl::NotFoundError(sentence);
    case 410:
      return absl::OutOfRangeError(sentence);
    case 429:
      return absl::ResourceExhaustedError(sentence);
    default:
      return absl::UnavailableError(sentence);
  }
}

// Quotes the server's whole message: its end names the resource and the scope.
std::string QuotedRefusal(std::string_view text) {
  constexpr size_t kLongestBytes = 512;
  std::string sentence = CleanUtf8(text.substr(0, kLongestBytes));
  std::ranges::replace_if(
      sentence, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, ' ');
  return "\"" + sentence + (text.size() > kLongestBytes ? "...\"" : "\"");
}

}  // namespace podgpu
