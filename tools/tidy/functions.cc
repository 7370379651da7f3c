#include <array>
#include <cctype>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

enum class Brace { kScope, kFunction, kOther };

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && IsSpace(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

// What an opening brace opens, told from the text since the last statement: `head`.
Brace Classify(std::string_view head) {
  const bool glued = !head.empty() && !IsSpace(head.back());  // `int x{3}`, `: member_{value}`
  const std::string_view text = Trimmed(head);
  if (text.starts_with("namespace") || text.ends_with("namespace") || text == "extern \"\"" ||
      text.starts_with("inline namespace")) {
    return Brace::kScope;
  }
  if (glued && !text.ends_with(')')) {
    return Brace::kOther;
  }
  if (text.empty() || text.ends_with('=') || text.ends_with(',') || text.ends_with('(')) {
    return Brace::kOther;
  }
  if (text.find('(') != std::string_view::npos) {
    return Brace::kFunction;
  }
  constexpr std::array<std::string_view, 4> kTypes = {"struct", "class", "union", "enum"};
  for (std::string_view type : kTypes) {
    if (HasWord(text, type)) {
      return Brace::kScope;
    }
  }
  return Brace::kOther;
}

// The offset just behind the brace that closes the one at `open`.
size_t Close(const std::string& code, size_t open) {
  int depth = 0;
  for (size_t at = open; at < code.size(); ++at) {
    depth += code[at] == '{' ? 1 : code[at] == '}' ? -1 : 0;
    if (depth == 0) {
      return at + 1;
    }
  }
  return code.size();
}

}  // namespace

std::vector<Function> FunctionsOf(const File& file) {
  std::vector<Function> functions;
  const std::string& code = file.code();
  size_t head = 0;
  for (size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == ';' || c == '}') {
      head = at + 1;
    }
    if (c != '{') {
      continue;
    }
    const Brace brace = Classify(std::string_view(code).substr(head, at - head));
    if (brace == Brace::kScope) {
      head = at + 1;
      continue;
    }
    const size_t end = Close(code, at);
    if (brace == Brace::kFunction) {
      const int first = file.LineAt(at);
      functions.push_back({first, file.LineAt(end - 1) - first});
      head = end;
    }
    at = end - 1;  // After a brace of another kind the statement goes on.
  }
  return functions;
}

}  // namespace podgpu::tidy
