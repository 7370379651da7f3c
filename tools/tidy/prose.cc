#include "tools/tidy/prose.h"

#include <algorithm>
#include <cctype>

namespace podgpu::tidy {
namespace {

bool IsWordByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

// Whether the byte at `at` joins two bytes of one word: "design.md", "driver's".
bool JoinsWord(std::string_view prose, size_t at) {
  return (prose[at] == '.' || prose[at] == '\'') && at > 0 && IsWordByte(prose[at - 1]) &&
         at + 1 < prose.size() && IsWordByte(prose[at + 1]);
}

// What may stand between two words of one phrase: blanks, line ends, and the marks that begin a
// line of a comment or of a list, or that join two literals.
bool IsJoint(std::string_view between) {
  constexpr std::string_view kJoints = " \t\n/*#\"\\";
  return between.find_first_not_of(kJoints) == std::string_view::npos;
}

struct Token {
  std::string word;  // Lower case.
  size_t at = 0;
  size_t end = 0;
};

std::vector<Token> TokensOf(std::string_view prose) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < prose.size();) {
    size_t end = at;
    std::string word;
    while (end < prose.size() && (IsWordByte(prose[end]) || JoinsWord(prose, end))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(prose[end])));
      ++end;
    }
    if (end > at) {
      tokens.push_back({std::move(word), at, end});
    }
    at = std::max(end, at + 1);
  }
  return tokens;
}

// "driver" of "driver's".
std::string_view Stem(std::string_view word) {
  return word.ends_with("'s") ? word.substr(0, word.size() - 2) : word;
}

bool IsWanted(std::string_view word, std::string_view wanted) {
  if (wanted == "#") {
    return std::isdigit(static_cast<unsigned char>(word.front())) != 0;
  }
  return word == wanted || Stem(word) == wanted;
}

// The number of tokens from `first` on that make up `phrase`; 0 when they do not.
size_t TokensMatched(std::string_view phrase, std::string_view prose,
                     const std::vector<Token>& tokens, size_t first) {
  size_t count = 0;
  while (!phrase.empty()) {
    const size_t end = std::min(phrase.find(' '), phrase.size());
    const size_t at = first + count;
    if (at >= tokens.size() || !IsWanted(tokens[at].word, phrase.substr(0, end))) {
      return 0;
    }
    if (count > 0 &&
        !IsJoint(prose.substr(tokens[at - 1].end, tokens[at].at - tokens[at - 1].end))) {
      return 0;
    }
    phrase.remove_prefix(std::min(end + 1, phrase.size()));
    ++count;
  }
  return count;
}

void BlankLine(std::string& prose, std::string_view line, const std::string& text) {
  const auto at = static_cast<size_t>(line.data() - text.data());
  std::fill_n(prose.begin() + static_cast<std::ptrdiff_t>(at), line.size(), ' ');
}

}  // namespace

std::string ProseText(const File& file) {
  std::string prose = file.text();
  if (!file.is_cpp()) {
    return prose;
  }
  const std::string& code = file.code();
  for (size_t i = 0; i < prose.size(); ++i) {
    if (code[i] != ' ' && code[i] != '\n') {
      prose[i] = ' ';
    }
  }
  for (std::string_view line : file.Lines()) {
    if (line.starts_with("#include ")) {
      BlankLine(prose, line, file.text());
    }
  }
  return prose;
}

std::vector<Phrase> PhrasesIn(std::string_view prose, std::span<const std::string_view> wanted) {
  std::vector<Phrase> found;
  const std::vector<Token> tokens = TokensOf(prose);
  for (size_t first = 0; first < tokens.size(); ++first) {
    for (std::string_view phrase : wanted) {
      if (TokensMatched(phrase, prose, tokens, first) > 0) {
        found.push_back({phrase, tokens[first].at});
      }
    }
  }
  return found;
}

}  // namespace podgpu::tidy
