// Label selectors of the Kubernetes API: "app=llm,tier in (a,b),!canary".
//
// The whole grammar of k8s.io/apimachinery (labels/selector.go, 1.34): =, ==, !=, in, notin, a key
// alone (exists), !key. Requirements are joined by "and". A label that is absent satisfies !=,
// notin and !key. Texts have size limits, and keys and values the form of labels. Immutable; any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

struct LabelRequirement {
  enum class Operator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values{};  // Values of kIn and kNotIn; sorted, each once.

  // `value`: of the label; nothing if it is absent.
  bool IsMetBy(std::optional<std::string_view> value) const;
  bool operator==(const LabelRequirement&) const = default;
};

struct LabelSelector {
  std::vector<LabelRequirement> requirements;  // Empty: everything matches.

  // `find` returns the value of a label, or nothing.
  bool Matches(
      const std::function<std::optional<std::string_view>(std::string_view key)>& find) const;
  bool operator==(const LabelSelector&) const = default;
};

// kInvalidArgument with one line: where in the text the mistake is, and what is expected there.
StatusOr<LabelSelector> ParseLabelSelector(std::string_view text);

// The selector as text, in the form that ParseLabelSelector reads.
std::string ToString(const LabelSelector& selector);

}  // namespace podgpu
