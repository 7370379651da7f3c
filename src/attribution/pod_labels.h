// Which labels of a pod stand on rows, and how they are called there.
//
// A key that matches no pattern of the allowlist is left out; without patterns all are in.  What a
// label name cannot hold becomes '_' (Kubernetes keys have dots, dashes and slashes), so that two
// keys may get one name: then the first of them, by bytes, counts.  Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podgpu {

using PodLabels = std::vector<std::pair<std::string, std::string>>;

class LabelAllowlist {
 public:
  // Patterns are RE2's, searched anywhere in the key.  One that cannot be understood is left out
  // and told in complaints(); when none is left, there is no filter.
  explicit LabelAllowlist(const std::vector<std::string>& patterns);
  ~LabelAllowlist();
  LabelAllowlist(const LabelAllowlist&) = delete;
  LabelAllowlist& operator=(const LabelAllowlist&) = delete;

  bool Allows(std::string_view key) const;

  // The labels that are allowed, under the names that they have on rows, sorted by these.
  PodLabels Select(const PodLabels& labels) const;

  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Patterns;  // What knows RE2.
  std::unique_ptr<const Patterns> patterns_;
  std::vector<std::string> complaints_;
};

// `key` with '_' for every character that the name of a label cannot have, and '_' before a digit
// at its beginning.
std::string LabelNameOf(std::string_view key);

}  // namespace podgpu
