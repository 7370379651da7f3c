// Selects the labels of a pod that its rows show, and their names there.
//
// A key that matches no pattern of the allowlist is left out; without patterns, all keys are
// allowed. A pattern that cannot be compiled is an error for the whole list: the list limits
// cardinality and the data that leaves the cluster, so a mistake must not open it. Characters that
// a label name cannot contain become '_' (Kubernetes keys contain dots, dashes and slashes). If two
// keys then have the same name, the first key by bytes is used. Each label is on every row of a
// device, and a user who may create pods can give one thousands of labels, so their number is
// limited. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace podgpu {

using PodLabels = std::vector<std::pair<std::string, std::string>>;

// Limits per pod.
inline constexpr size_t kMostPodLabels = 64;
inline constexpr size_t kMostPodLabelBytes = 8'192;  // Names and values together.

struct SelectedLabels {
  PodLabels labels;    // Sorted by name.
  size_t dropped = 0;  // Allowed labels above the limits.
};

class LabelAllowlist {
 public:
  // Patterns use RE2 syntax and are searched anywhere in the key. kInvalidArgument names the first
  // pattern that cannot be compiled, and RE2's reason.
  static StatusOr<std::shared_ptr<const LabelAllowlist>> Compile(
      const std::vector<std::string>& patterns);
  ~LabelAllowlist();
  LabelAllowlist(const LabelAllowlist&) = delete;
  LabelAllowlist& operator=(const LabelAllowlist&) = delete;

  bool Allows(std::string_view key) const;

  // Returns the allowed labels under their names on rows; above the limits, the first ones by name.
  SelectedLabels Select(const PodLabels& labels) const;

 private:
  struct Patterns;  // Hides RE2 from this header.
  explicit LabelAllowlist(std::unique_ptr<const Patterns> patterns);
  std::unique_ptr<const Patterns> patterns_;
};

// Returns `key` with '_' for every character that a label name cannot contain, and '_' before a
// leading digit.
std::string LabelNameOf(std::string_view key);

}  // namespace podgpu
