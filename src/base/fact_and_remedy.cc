#include "base/fact_and_remedy.h"

namespace podgpu {
namespace {

bool IsUpper(char letter) { return letter >= 'A' && letter <= 'Z'; }

std::string WithoutStop(std::string_view text) {
  while (text.ends_with('.') || text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

// Returns a sentence as the rest of a line: without its stop, and without a capital, unless its
// first word has more of them.
std::string Uncapitalised(std::string_view sentence) {
  std::string text = WithoutStop(sentence);
  if (text.size() > 1 && IsUpper(text[0]) && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

FactAndRemedy Parted(const Status& status, std::string_view otherwise) {
  const std::string_view message(status.message().data(), status.message().size());
  for (size_t at = message.find(". "); at != std::string_view::npos;
       at = message.find(". ", at + 1)) {
    if (at + 2 < message.size() && IsUpper(message[at + 2])) {
      return {WithoutStop(message.substr(0, at)), Uncapitalised(message.substr(at + 2))};
    }
  }
  return {WithoutStop(message), std::string(otherwise)};
}

}  // namespace podgpu
