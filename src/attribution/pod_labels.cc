#include "attribution/pod_labels.h"

#include <algorithm>
#include <map>
#include <re2/re2.h>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr int64_t kMaxPatternBytes = int64_t{1} << 20;  // Of memory for one compiled pattern.

}  // namespace

struct LabelAllowlist::Patterns {
  std::vector<std::unique_ptr<const re2::RE2>> all;
};

LabelAllowlist::LabelAllowlist(std::unique_ptr<const Patterns> patterns)
    : patterns_(std::move(patterns)) {}

StatusOr<std::shared_ptr<const LabelAllowlist>> LabelAllowlist::Compile(
    const std::vector<std::string>& patterns) {
  auto compiled = std::make_unique<Patterns>();
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternBytes);
  for (const std::string& pattern : patterns) {
    auto expression = std::make_unique<const re2::RE2>(pattern, options);
    if (!expression->ok()) {
      return absl::InvalidArgumentError(absl::StrFormat("%s is not a regular expression of RE2: %s",
                                                        Quoted(pattern), expression->error()));
    }
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
