#include "sim/program/control_words.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "sim/program/units.h"
#include "sim/scenario/fault_table.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kSeeHelp = "; see `podgpu-sim fault --help`";
constexpr std::string_view kAt = "at";

std::string Hint(std::string_view word, std::span<const std::string_view> known) {
  const std::optional<std::string_view> nearest = Nearest(word, known);
  return nearest ? absl::StrFormat("; nearest is %s", *nearest) : std::string(kSeeHelp);
}

// Values go into YAML unquoted, so characters with a meaning in YAML are not allowed.
bool IsPlain(std::string_view value) {
  constexpr std::string_view kAlso = "_.+-*?/%,";
  return !value.empty() && std::ranges::all_of(value, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kAlso.find(c) != std::string_view::npos;
  });
}

bool IsList(FaultKeyForm form) {
  return form == FaultKeyForm::kCalls || form == FaultKeyForm::kFields ||
         form == FaultKeyForm::kLayout;
}

// "[\"a\", \"b\"]", "5s"; patterns are quoted, since `*` begins an alias in YAML.
std::string Value(FaultKeyForm form, std::string_view value) {
  if (!IsList(form)) {
    return std::string(value);
  }
  std::string list;
  for (const std::string_view one : Split(value, ',')) {
    const bool quoted = form == FaultKeyForm::kCalls;
    list += absl::StrFormat("%s%s%s%s", list.empty() ? "" : ", ", quoted ? "\"" : "", one,
                            quoted ? "\"" : "");
  }
  return "[" + list + "]";
}

// Reads the words after the kind.
class Reader {
 public:
  explicit Reader(const FaultRow& row) : row_(row) {
    words_.entry = absl::StrFormat("kind: %s", row.name);
    known_ = {kAt};
    for (const FaultKeyUse& use : row.Keys()) {
      known_.push_back(use.name);
    }
  }

  Status Read(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (std::ranges::find(known_, key) == known_.end()) {
      return Wrong(absl::StrFormat("unknown key \"%s\"%s", key, Hint(key, known_)));
    }
    if (!seen_.insert(key).second) {
      return Wrong(absl::StrFormat("%s is written twice", key));
    }
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    // `layout=` without a value turns MIG mode off.
    if (!IsPlain(value) && !(key == "layout" && value.empty() && equals != std::string::npos)) {
      return Wrong(absl::StrFormat("\"%s\" is not key=value in plain letters%s", word, kSeeHelp));
    }
    if (key == kAt) {
      words_.at = ParseTime(value);
      return words_.at ? absl::OkStatus()
                       : Wrong(absl::StrFormat("at is \"%s\"; write a time such as 90s", value));
    }
    const FaultKeyForm form = FaultKeyNamed(key).form;
    words_.entry += absl::StrFormat(", %s: %s", key, value.empty() ? "[]" : Value(form, value));
    return absl::OkStatus();
  }

  StatusOr<FaultWords> Finish() {
    for (const FaultKeyUse& use : row_.Keys()) {
      if (use.needed && !seen_.contains(std::string(use.name))) {
        return Wrong(absl::StrFormat("%s=%s is missing", use.name, FaultKeyNamed(use.name).value));
      }
    }
    return std::move(words_);
  }

 private:
  Status Wrong(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrFormat("podgpu-sim fault %s: %s", row_.name, what));
  }

  const FaultRow& row_;
  FaultWords words_;
  std::vector<std::string_view> known_;
  std::set<std::string> seen_;
};

}  // namespace

std::string NoFaultKind(std::string_view name) {
  return absl::StrFormat("unknown kind of fault \"%s\"%s", name, Hint(name, FaultNames()));
}

StatusOr<FaultKind> ReadFaultKind(std::string_view command, std::string_view name) {
  const FaultRow* const row = FindFaultRow(name);
  if (row != nullptr && row->kind == FaultKind::kHeal) {
    return absl::InvalidArgumentError(
        absl::StrFormat("podgpu-sim %s: heal is a separate command: `podgpu-sim heal`", command));
  }
  if (row == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("podgpu-sim %s: %s", command, NoFaultKind(name)));
  }
  return row->kind;
}

StatusOr<FaultWords> ReadFaultWords(std::span<const std::string> words) {
  PODGPU_ASSIGN_OR_RETURN(const FaultKind kind, ReadFaultKind("fault", words.front()));
  Reader reader(RowOf(kind));
  for (const std::string& word : words.subspan(1)) {
    PODGPU_RETURN_IF_ERROR(reader.Read(word));
  }
  return reader.Finish();
}

}  // namespace podgpu::sim
