#include "exposition/labels.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/str_format.h"

#include "exposition/escape.h"

namespace podgpu {

std::string RenderLabels(const std::vector<Label>& labels) {
  std::string rendered;
  std::vector<std::string> names;
  for (const Label& label : labels) {
    std::string name;
    AppendLabelName(label.name, name);
    if (std::ranges::find(names, name) != names.end()) {
      continue;
    }
    rendered += names.empty() ? "" : ",";
    rendered += name + "=\"";
    AppendLabelValue(label.value, rendered);
    rendered += '"';
    names.push_back(std::move(name));
  }
  return rendered;
}

std::string SortKeyOf(const std::vector<Label>& labels) {
  std::map<std::string_view, std::string_view> by_name;
  for (const Label& label : labels) {
    by_name.emplace(label.name, label.value);  // Of two labels of one name the first counts.
  }
  std::string key;
  for (const auto& [name, value] : by_name) {
    absl::StrAppendFormat(&key, "%d:%s=%d:%s;", name.size(), name, value.size(), value);
  }
  return key;
}

}  // namespace podgpu
