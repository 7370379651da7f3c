#include <algorithm>
#include <sstream>
#include <string>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

constexpr size_t kMaxColumns = 100;
constexpr size_t kMaxHeaderLines = 200;
constexpr size_t kMaxFileLines = 500;
constexpr int kMinProseWords = 20;

size_t Columns(std::string_view line) {
  return static_cast<size_t>(std::ranges::count_if(line, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // Not the rest of a UTF-8 letter.
  }));
}

// Words of the comment that the file opens with.
int OpeningWords(const std::vector<std::string_view>& lines) {
  int words = 0;
  for (std::string_view line : lines) {
    if (!line.starts_with("//")) {
      break;
    }
    std::istringstream stream{std::string(line.substr(2))};
    for (std::string word; stream >> word;) {
      ++words;
    }
  }
  return words;
}

}  // namespace

void CheckFiles(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    if (!file.is_cpp()) {
      continue;
    }
    const std::vector<std::string_view> lines = file.Lines();
    const auto complain = [&](size_t line, const char* rule, size_t count, const char* of) {
      complaints.push_back({file.path(), static_cast<int>(line), rule,
                            "it has " + std::to_string(count) + " " + of});
    };
    if (const int words = OpeningWords(lines); file.is_header() && words < kMinProseWords) {
      complain(1, kHeaderProse, static_cast<size_t>(words), "words of prose");
    }
    if (std::ranges::count(lines, "// tidy: table") > 0) {
      continue;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      if (const size_t columns = Columns(lines[i]); columns > kMaxColumns) {
        complain(i + 1, kLength, columns, "columns");
      }
    }
    if (lines.size() > (file.is_header() ? kMaxHeaderLines : kMaxFileLines)) {
      complain(lines.size(), kLength, lines.size(), "lines");
    }
  }
}

}  // namespace podgpu::tidy
