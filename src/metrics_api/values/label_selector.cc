#include "metrics_api/values/label_selector.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

using Operator = LabelRequirement::Operator;

constexpr size_t kLongestSelectorText = 8'192;
constexpr size_t kMostRequirements = 64;
constexpr size_t kMostSelectorValues = 256;
constexpr size_t kLongestLabelName = 63;
constexpr size_t kLongestLabelPrefix = 253;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A name as in keys and values: letters, digits, '-', '_', '.'; the ends are alphanumeric.
bool IsLabelName(std::string_view text) {
  const auto is_inner = [](char c) {
    return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kLongestLabelName && std::ranges::all_of(text, is_inner) &&
         IsAlphanumeric(text.front()) && IsAlphanumeric(text.back());
}

bool IsLabelPrefix(std::string_view text) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kLongestLabelPrefix && std::ranges::all_of(text, is_inner);
}

bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  return slash == std::string_view::npos
             ? IsLabelName(text)
             : IsLabelPrefix(text.substr(0, slash)) && IsLabelName(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

// Reads words and signs from the front of a text.
class SelectorReader {
 public:
  explicit SelectorReader(std::string_view text) : text_(text) {}

  StatusOr<LabelSelector> Read() {
    LabelSelector selector;
    SkipBlanks();
    if (at_ == text_.size()) {
      return selector;
    }
    while (true) {
      PODGPU_ASSIGN_OR_RETURN(LabelRequirement requirement, ReadRequirement());
      selector.requirements.push_back(std::move(requirement));
      if (at_ == text_.size()) {
        return selector;
      }
      if (selector.requirements.size() == kMostRequirements) {
        return Expected(absl::StrFormat("at most %d requirements", kMostRequirements));
      }
      if (!Take(",")) {
        return Expected("a comma, or one of = == != in notin");
      }
    }
  }

 private:
  Status Expected(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrFormat("unable to parse the selector %s: expected %s at character %d",
                        Quoted(text_), what, at_ + 1));
  }

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  // Takes a sign if it is next, with the blanks behind it.
  bool Take(std::string_view sign) {
    if (!text_.substr(at_).starts_with(sign)) {
      return false;
    }
    at_ += sign.size();
    SkipBlanks();
    return true;
  }

  std::string_view TakeWord() {
    constexpr std::string_view kEnds = " \t=!,()<>";
    const size_t end = std::min(text_.find_first_of(kEnds, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    SkipBlanks();
    return word;
  }

  StatusOr<LabelRequirement> ReadRequirement() {
    LabelRequirement requirement;
    const bool is_absent = Take("!");
    const size_t begin = at_;
    const std::string_view key = TakeWord();
    if (!IsLabelKey(key)) {
      at_ = begin;
      return Expected("a label key");
    }
    requirement.key = key;
    if (is_absent) {
      requirement.op = Operator::kDoesNotExist;
      return requirement;
    }
    return ReadCondition(std::move(requirement));
  }

  StatusOr<LabelRequirement> ReadCondition(LabelRequirement requirement) {
    if (at_ == text_.size() || text_[at_] == ',') {
      return requirement;  // The key exists.
    }
    const bool is_equal = Take("==") || Take("=");
    if (is_equal || Take("!=")) {
      requirement.op = is_equal ? Operator::kIn : Operator::kNotIn;
      return WithValues(std::move(requirement), false);
    }
    const size_t begin = at_;
    const std::string_view word = TakeWord();
    if (word != "in" && word != "notin") {
      at_ = begin;
      return Expected("a comma, or one of = == != in notin");
    }
    requirement.op = word == "in" ? Operator::kIn : Operator::kNotIn;
    if (!Take("(")) {
      return Expected("an opening parenthesis");
    }
    return WithValues(std::move(requirement), true);
  }

  // Reads one value, or a list up to its closing parenthesis.
  StatusOr<LabelRequirement> WithValues(LabelRequirement requirement, bool is_list) {
    do {
      const size_t begin = at_;
      const std::string_view value = TakeWord();
      if (!IsLabelValue(value)) {
        at_ = begin;
        return Expected("a label value");
      }
      requirement.values.emplace_back(value);
      if (requirement.values.size() > kMostSelectorValues) {
        return Expected(absl::StrFormat("at most %d values", kMostSelectorValues));
      }
    } while (is_list && Take(","));
    if (is_list && !Take(")")) {
      return Expected("a comma or a closing parenthesis");
    }
    std::ranges::sort(requirement.values);
    const auto repeated = std::ranges::unique(requirement.values);
    requirement.values.erase(repeated.begin(), repeated.end());
    return requirement;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

std::string TextOfRequirement(const LabelRequirement& requirement) {
  if (requirement.op == Operator::kExists) {
    return requirement.key;
  }
  if (requirement.op == Operator::kDoesNotExist) {
    return "!" + requirement.key;
  }
  std::string text = requirement.key + (requirement.op == Operator::kIn ? " in (" : " notin (");
  for (size_t i = 0; i < requirement.values.size(); ++i) {
    text += (i == 0 ? "" : ",") + requirement.values[i];
  }
  return text + ")";
}

}  // namespace

bool LabelRequirement::IsMetBy(std::optional<std::string_view> value) const {
  switch (op) {
    case Operator::kIn:
      return value && std::ranges::binary_search(values, *value, {}, [](const std::string& one) {
               return std::string_view(one);
             });
    case Operator::kNotIn:
      return !value || !std::ranges::binary_search(values, *value, {}, [](const std::string& one) {
        return std::string_view(one);
      });
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value.has_value();
  }
  return false;
}

bool LabelSelector::Matches(
    const std::function<std::optional<std::string_view>(std::string_view key)>& find) const {
  return std::ranges::all_of(requirements, [&](const LabelRequirement& requirement) {
    return requirement.IsMetBy(find(requirement.key));
  });
}

StatusOr<LabelSelector> ParseLabelSelector(std::string_view text) {
  if (text.size() > kLongestSelectorText) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the selector is longer than %d bytes", kLongestSelectorText));
  }
  return SelectorReader(text).Read();
}

std::string ToString(const LabelSelector& selector) {
  std::string text;
  for (const LabelRequirement& requirement : selector.requirements) {
    text += (text.empty() ? "" : ",") + TextOfRequirement(requirement);
  }
  return text;
}

}  // namespace podgpu
