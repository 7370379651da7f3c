#include "attribution/pod_labels.h"

#include <algorithm>
#include <map>
#include <re2/re2.h>

#include "attribution/pattern.h"

namespace podgpu {

struct LabelAllowlist::Patterns {
  std::vector<std::unique_ptr<const re2::RE2>> all;
};

LabelAllowlist::LabelAllowlist(std::unique_ptr<const Patterns> patterns)
    : patterns_(std::move(patterns)) {}

StatusOr<std::shared_ptr<const LabelAllowlist>> LabelAllowlist::Compile(
    const std::vector<std::string>& patterns) {
  auto compiled = std::make_unique<Patterns>();
  for (const std::string& pattern : patterns) {
    PODGPU_ASSIGN_OR_RETURN(std::unique_ptr<const re2::RE2> expression, CompilePattern(pattern));
    compiled->all.push_back(std::move(expression));
  }
  // Private constructor: make_shared cannot reach it.
  return std::shared_ptr<const LabelAllowlist>(
      new LabelAllowlist(std::move(compiled)));  // NOLINT(cppcoreguidelines-owning-memory)
}

LabelAllowlist::~LabelAllowlist() = default;

bool LabelAllowlist::Allows(std::string_view key) const {
  const auto& all = patterns_->all;
  return all.empty() || std::ranges::any_of(all, [&](const auto& pattern) {
           return re2::RE2::PartialMatch({key.data(), key.size()}, *pattern);
         });
}

SelectedLabels LabelAllowlist::Select(const PodLabels& labels) const {
  PodLabels sorted = labels;
  std::ranges::sort(sorted);
  std::map<std::string, std::string> selected;
  for (auto& [key, value] : sorted) {
    if (Allows(key)) {
      selected.emplace(LabelNameOf(key), std::move(value));
    }
  }
  SelectedLabels taken;
  size_t bytes = 0;
  for (const auto& [name, value] : selected) {
    bytes += name.size() + value.size();
    if (taken.labels.size() < kMostPodLabels && bytes <= kMostPodLabelBytes) {
      taken.labels.emplace_back(name, value);
    }
  }
  taken.dropped = selected.size() - taken.labels.size();
  return taken;
}

std::string LabelNameOf(std::string_view key) {
  std::string name;
  for (const char c : key) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_digit && name.empty()) {
      name += '_';
    }
    name += is_digit || is_letter ? c : '_';
  }
  return name;
}

}  // namespace podgpu
