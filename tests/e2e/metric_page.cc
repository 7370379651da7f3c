#include "tests/e2e/metric_page.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace podgpu {
namespace {

double NumberOf(std::string_view line) {
  const std::string_view text = line.substr(line.rfind(' ') + 1);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool IsSample(std::string_view line) { return !line.empty() && line.front() != '#'; }

}  // namespace

std::vector<std::string_view> MetricPage::Lines(std::string_view family,
                                                const std::vector<std::string>& labels) const {
  std::vector<std::string_view> lines = Split(text_, '\n');
  std::erase_if(lines, [&](std::string_view line) {
    const bool is_family = line.starts_with(family) && line.size() > family.size() &&
                           (line[family.size()] == '{' || line[family.size()] == ' ');
    return !is_family || !std::ranges::all_of(labels, [line](const std::string& label) {
      return line.find(label) != std::string_view::npos;
    });
  });
  return lines;
}

std::optional<double> MetricPage::Value(std::string_view family,
                                        const std::vector<std::string>& labels) const {
  const std::vector<std::string_view> lines = Lines(family, labels);
  return lines.size() == 1 ? std::optional(NumberOf(lines.front())) : std::nullopt;
}

double MetricPage::Sum(std::string_view family, const std::vector<std::string>& labels) const {
  double sum = 0;
  for (const std::string_view line : Lines(family, labels)) {
    sum += NumberOf(line);
  }
  return sum;
}

std::set<std::string> MetricPage::Series(const std::vector<std::string>& families) const {
  std::set<std::string> series;
  for (const std::string_view line : Split(text_, '\n')) {
    const bool wanted = std::ranges::any_of(
        families, [line](const std::string& family) { return line.starts_with(family); });
    if (wanted && IsSample(line)) {
      series.emplace(line.substr(0, line.rfind(' ')));
    }
  }
  return series;
}

std::string MetricPage::Label(std::string_view line, std::string_view name) {
  for (const char before : {'{', ','}) {
    const std::string start = before + std::string(name) + "=\"";
    const size_t at = line.find(start);
    if (at != std::string_view::npos) {
      const size_t begin = at + start.size();
      return std::string(line.substr(begin, line.find('"', begin) - begin));
    }
  }
  return "";
}

}  // namespace podgpu
