// Which labels of a pod stand on rows, and how they are called there.
//
// A key that matches no pattern of the allowlist is left out; without patterns all are in.  A
// pattern that cannot be compiled makes no list: this is a limit on cardinality and on what leaves
// the cluster, so it must not open by a mistake.  What a
// label name cannot hold becomes '_' (Kubernetes keys have dots, dashes and slashes), so that two
// keys may get one name: then the first of them, by bytes, counts.  Each label stands on every row
// of a device, and a user who may make pods can give one thousands: the number is bounded.
// Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace podgpu {

using PodLabels = std::vector<std::pair<std::string, std::string>>;

// Of one pod; rows carry no more.
inline constexpr size_t kMostPodLabels = 64;
inline constexpr size_t kMostPodLabelBytes = 8'192;  // Of names and values.

struct SelectedLabels {
  PodLabels labels;    // By name.
  size_t dropped = 0;  // That were allowed, and are too many.
};

class LabelAllowlist {
 public:
  // Patterns are RE2's, searched anywhere in the key.  kInvalidArgument names the first one that
  // cannot be compiled, and RE2's reason.
  static StatusOr<std::shared_ptr<const LabelAllowlist>> Compile(
      const std::vector<std::string>& patterns);
  ~LabelAllowlist();
  LabelAllowlist(const LabelAllowlist&) = delete;
  LabelAllowlist& operator=(const LabelAllowlist&) = delete;

  bool Allows(std::string_view key) const;

  // The labels that are allowed, under the names that they have on rows; of too many the first by
  // name.
  SelectedLabels Select(const PodLabels& labels) const;

 private:
  struct Patterns;  // What knows RE2.
  explicit LabelAllowlist(std::unique_ptr<const Patterns> patterns);
  std::unique_ptr<const Patterns> patterns_;
};

// `key` with '_' for every character that the name of a label cannot have, and '_' before a digit
// at its beginning.
std::string LabelNameOf(std::string_view key);

}  // namespace podgpu
