#include "tests/energy/history.h"

#include "absl/strings/str_format.h"

#include "base/status.h"
#include "base/text.h"

namespace podgpu {

void PageHistory::Add(std::string_view page, int64_t stamp_us) {
  const std::string stamp =
      absl::StrFormat(" %d.%03d\n", stamp_us / 1'000'000, stamp_us / 1'000 % 1'000);
  FamilyHistory* family = nullptr;
  bool is_new = false;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.empty() || line == "# EOF") {
      continue;
    }
    if (line.starts_with("# TYPE ")) {  // The first line of a family.
      const std::string name(line.substr(7, line.rfind(' ') - 7));
      is_new = !families_.contains(name);
      family = &families_[name];
      if (is_new) {
        order_.push_back(name);
      }
    }
    PODGPU_CHECK(family != nullptr);
    if (line.front() == '#') {
      family->header += is_new ? std::string(line) + "\n" : "";
      continue;
    }
    const std::string series(line.substr(0, line.rfind(' ')));
    const auto [lines, is_new_series] = family->lines.try_emplace(series);
    if (is_new_series) {
      family->order.push_back(series);
    }
    lines->second += std::string(line) + stamp;
  }
}

std::string PageHistory::Text() const {
  std::string text;
  for (const std::string& name : order_) {
    const FamilyHistory& family = families_.at(name);
    text += family.header;
    for (const std::string& series : family.order) {
      text += family.lines.at(series);
    }
  }
  return text + "# EOF\n";
}

}  // namespace podgpu
