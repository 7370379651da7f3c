#include <algorithm>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

constexpr size_t kMaxColumns = 100;
constexpr size_t kMaxHeaderLines = 200;
constexpr size_t kMaxFileLines = 500;
constexpr int kMaxFunctionLines = 70;
constexpr int kLongFunctionLines = 40;
constexpr size_t kLongFunctionsPercent = 5;

struct Place {
  const File* file;
  Function function;
};

size_t Columns(std::string_view line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // Not the rest of a UTF-8 letter.
  }));
}

bool IsTable(const File& file) { return file.text().find("// tidy: table\n") != std::string::npos; }

void CheckLines(const File& file, Complaints& complaints) {
  const std::vector<std::string_view> lines = file.Lines();
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t columns = Columns(lines[i]);
    const int number = static_cast<int>(i) + 1;
    if (columns > kMaxColumns && !file.Allows(number, NameOf(Rule::kLineLength))) {
      complaints.push_back({file.path(), number, Rule::kLineLength,
                            "it has " + std::to_string(columns) + " columns"});
    }
  }
  const bool header = file.is_header();
  const size_t most = header ? kMaxHeaderLines : kMaxFileLines;
  if (lines.size() > most) {
    complaints.push_back({file.path(), static_cast<int>(lines.size()),
                          header ? Rule::kHeaderLength : Rule::kFileLength,
                          "it has " + std::to_string(lines.size()) + " lines"});
  }
}

void CheckShare(std::vector<Place> longer, size_t all, Complaints& complaints) {
  if (longer.size() * 100 <= all * kLongFunctionsPercent) {
    return;
  }
  std::sort(longer.begin(), longer.end(),
            [](const Place& a, const Place& b) { return a.function.lines > b.function.lines; });
  const std::string share = std::to_string(longer.size()) + " of " + std::to_string(all);
  for (const Place& place : longer) {
    complaints.push_back({place.file->path(), place.function.first_line, Rule::kLongFunctions,
                          "a function of " + std::to_string(place.function.lines) +
                              " lines is one of the " + share + " above 40"});
  }
}

}  // namespace

void CheckBudgets(const Tree& tree, Complaints& complaints) {
  std::vector<Place> longer;
  size_t all = 0;
  for (const File& file : tree.files) {
    if (!file.is_cpp() || IsTable(file)) {
      continue;
    }
    CheckLines(file, complaints);
    for (const Function& function : FunctionsOf(file)) {
      if (function.lines > kMaxFunctionLines) {
        complaints.push_back({file.path(), function.first_line, Rule::kFunctionLength,
                              "a function has " + std::to_string(function.lines) + " lines"});
      }
      if (!file.is_test()) {
        ++all;
        if (function.lines > kLongFunctionLines) {
          longer.push_back({&file, function});
        }
      }
    }
  }
  CheckShare(std::move(longer), all, complaints);
}

}  // namespace podgpu::tidy
