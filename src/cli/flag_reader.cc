#include "cli/flag_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

std::optional<bool> ParseSwitch(std::string_view value) {
  if (value == "on" || value == "off") {
    return value == "on";
  }
  return ParseGoBool(value);
}

std::optional<milliseconds> ParseMilliseconds(std::string_view value) {
  if (const std::optional<int64_t> plain = ParseGoInt(value)) {
    return milliseconds(*plain);
  }
  const auto duration = ParseGoDuration(value);
  return duration ? std::optional(std::chrono::duration_cast<milliseconds>(*duration))
                  : std::nullopt;
}

Status Refused(const std::string& what) { return absl::InvalidArgumentError(what); }

bool IsOfKind(FlagKind kind, std::string_view value) {
  switch (kind) {
    case FlagKind::kBool:
      return ParseGoBool(value).has_value();
    case FlagKind::kInt:
      return ParseGoInt(value).has_value();
    case FlagKind::kDuration:
      return ParseGoDuration(value).has_value();
    case FlagKind::kMilliseconds:
      return ParseMilliseconds(value).has_value();
    case FlagKind::kSwitch:
      return ParseSwitch(value).has_value();
    case FlagKind::kString:
    case FlagKind::kList:
    case FlagKind::kOptional:
      return true;
  }
  return false;
}

// Returns the form of a value of `kind`, for messages.
std::string_view Example(FlagKind kind) {
  switch (kind) {
    case FlagKind::kBool:
      return "true or false";
    case FlagKind::kInt:
      return "a whole number";
    case FlagKind::kDuration:
      return "a duration such as 5s or 1m30s";
    case FlagKind::kMilliseconds:
      return "milliseconds such as 5000, or a duration such as 5s";
    case FlagKind::kSwitch:
      return "on or off";
    case FlagKind::kString:
    case FlagKind::kList:
    case FlagKind::kOptional:
      return "a text";
  }
  return "";
}

// Reads one command line with Go's grammar.
class FlagReader {
 public:
  FlagReader(const std::vector<BoundFlag>& flags, std::string_view hint)
      : flags_(flags), hint_(hint) {}

  // An empty variable means false for booleans and unset for everything else. Exception: the mere
  // presence of dcgm-exporter's variable selects the remote engine.
  Status ReadEnvironment(const Environment& environment) const {
    for (const BoundFlag& flag : flags_) {
      if (flag.text.variable.empty()) {
        continue;
      }
      const std::optional<std::string> value = environment(std::string(flag.text.variable));
      const bool remote = flag.text.name == "remote-hostengine-info";
      if (!value || (value->empty() && !remote)) {
        continue;
      }
      PODGPU_RETURN_IF_ERROR(
          Apply(flag, flag.text.variable, value->empty() ? flag.text.default_text : *value));
    }
    return absl::OkStatus();
  }

  StatusOr<std::vector<std::string>> ReadArguments(std::span<const std::string> arguments) {
    size_t next = 0;
    while (next < arguments.size()) {
      const std::string_view argument = arguments[next];
      if (argument.size() < 2 || argument[0] != '-') {
        break;  // The first positional argument ends the flags.
      }
      ++next;
      if (argument == "--") {
        break;
      }
      PODGPU_RETURN_IF_ERROR(ReadFlag(argument, arguments, next));
    }
    const auto rest = arguments.subspan(next);
    return std::vector<std::string>(rest.begin(), rest.end());
  }

 private:
  const BoundFlag* Find(std::string_view name) const {
    const auto found = std::ranges::find_if(flags_, [name](const BoundFlag& flag) {
      return !name.empty() &&
             (flag.text.name == name || flag.text.alias == name || flag.text.other_name == name);
    });
    return found == flags_.end() ? nullptr : &*found;
  }

  Status UnknownFlag(std::string_view argument, std::string_view name) const {
    std::vector<std::string_view> names;
    names.reserve(flags_.size());
    for (const BoundFlag& flag : flags_) {
      names.push_back(flag.text.name);
    }
    const std::optional<std::string_view> nearest = Nearest(name, names);
    return Refused(absl::StrFormat("unknown flag %s%s. %s", Quoted(argument),
                                   nearest ? absl::StrFormat("; nearest is --%s", *nearest) : "",
                                   hint_));
  }

  // `origin` is how the user wrote the setting: "--collect-interval" or "DCGM_EXPORTER_INTERVAL".
  Status Apply(const BoundFlag& flag, std::string_view origin, std::string_view value) const {
    if (!IsOfKind(flag.text.kind, value)) {
      return Refused(absl::StrFormat("%s: %s is not %s. %s", origin, Quoted(value),
                                     Example(flag.text.kind), hint_));
    }
    if (const Status status = flag.apply(value); !status.ok()) {
      return Refused(
          absl::StrFormat("%s: %s is refused: %s", origin, Quoted(value), status.message()));
    }
    return absl::OkStatus();
  }

  // `next` is the index of the next argument, which may be the value.
  Status ReadFlag(std::string_view argument, std::span<const std::string> arguments, size_t& next) {
    std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
    std::optional<std::string_view> value;
    if (const size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const BoundFlag* const flag = Find(name);
    if (flag == nullptr) {
      return UnknownFlag(argument.substr(0, argument.find('=')), name);
    }
    const bool is_other = name == flag->text.other_name;
    const std::string origin =
        absl::StrFormat("--%s", is_other ? flag->text.other_name : flag->text.name);
    if (!value && flag->text.kind == FlagKind::kBool) {
      value = "true";
    }
    if (!value && flag->text.kind == FlagKind::kOptional) {
      value = "";
    }
    if (!value && flag->text.kind == FlagKind::kSwitch) {
      const bool is_next = next < arguments.size() && ParseSwitch(arguments[next]).has_value();
      value = is_next ? std::string_view(arguments[next++]) : std::string_view("on");
    }
    if (!value) {
      if (next == arguments.size()) {
        return Refused(
            absl::StrFormat("%s needs a value: %s. %s", origin, Example(flag->text.kind), hint_));
      }
      value = arguments[next++];
    }
    PODGPU_RETURN_IF_ERROR(CheckThatNamesAgree(flag->text, is_other, *value));
    // A list on the command line replaces the list from the environment; repeated flags append.
    if (flag->text.kind == FlagKind::kList && std::ranges::count(lists_begun_, flag) == 0) {
      lists_begun_.push_back(flag);
      flag->clear();
    }
    return Apply(*flag, origin, *value);
  }

  // A flag that is given under both of its long names must have the same value twice.
  Status CheckThatNamesAgree(const FlagText& flag, bool is_other, std::string_view value) {
    if (flag.other_name.empty()) {
      return absl::OkStatus();
    }
    const auto before = given_.find({flag.name, !is_other});
    const bool is_same =
        before == given_.end() || before->second == value ||
        (flag.kind == FlagKind::kBool && ParseGoBool(before->second) == ParseGoBool(value));
    if (!is_same) {
      return Refused(
          absl::StrFormat("--%s and --%s are the same flag but have two values, %s and %s",
                          flag.name, flag.other_name, Quoted(is_other ? before->second : value),
                          Quoted(is_other ? value : before->second)));
    }
    given_[{flag.name, is_other}] = value;
    return absl::OkStatus();
  }

  const std::vector<BoundFlag>& flags_;
  const std::string_view hint_;
  std::vector<const BoundFlag*> lists_begun_;
  // Values by flag; the bool tells whether its other name was used.
  std::map<std::pair<std::string_view, bool>, std::string_view> given_;
};

std::string OtherNames(const FlagText& flag) {
  std::string names = flag.alias.empty() ? "" : absl::StrFormat("`-%s`", flag.alias);
  if (!flag.other_name.empty()) {
    absl::StrAppendFormat(&names, "%s`--%s`", names.empty() ? "" : ", ", flag.other_name);
  }
  return names;
}

}  // namespace

std::string_view FlagKindName(FlagKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"bool",     "int",          "string", "list",
                                                      "duration", "milliseconds", "switch", "text"};
  return kNames[static_cast<size_t>(kind)];
}

StatusOr<std::vector<std::string>> ReadFlags(const std::vector<BoundFlag>& flags,
                                             std::span<const std::string> arguments,
                                             const Environment& environment,
                                             std::string_view hint) {
  FlagReader reader(flags, hint);
  PODGPU_RETURN_IF_ERROR(reader.ReadEnvironment(environment));
  return reader.ReadArguments(arguments);
}

std::string FlagHelp(std::span<const FlagText> flags) {
  std::string text;
  for (const FlagText& flag : flags) {
    const std::string alias =
        absl::StrFormat("%s%s%s%s", flag.alias.empty() ? "" : ", -", flag.alias,
                        flag.other_name.empty() ? "" : ", --", flag.other_name);
    absl::StrAppendFormat(&text, "  --%s%s  %s\n        %s\n", flag.name, alias,
                          FlagKindName(flag.kind), flag.help);
    if (!flag.variable.empty() || !flag.default_text.empty()) {
      absl::StrAppendFormat(
          &text, "       %s%s%s\n",
          flag.default_text.empty() ? "" : absl::StrFormat(" default %s", flag.default_text),
          flag.default_text.empty() || flag.variable.empty() ? "" : ";",
          flag.variable.empty() ? "" : absl::StrFormat(" variable %s", flag.variable));
    }
  }
  return text;
}

std::string FlagRows(std::span<const FlagText> flags) {
  std::string text;
  for (const FlagText& flag : flags) {
    const auto code = [](std::string_view part) {
      return part.empty() ? "" : absl::StrFormat("`%s`", part);
    };
    absl::StrAppendFormat(&text, "| `--%s` | %s | %s | %s | %s | %s |\n", flag.name,
                          OtherNames(flag), code(flag.variable), FlagKindName(flag.kind),
                          code(flag.default_text), flag.help);
  }
  return text;
}

milliseconds MillisecondsOf(std::string_view value) {
  return ParseMilliseconds(value).value_or(milliseconds(0));
}

bool IsOn(std::string_view value) { return ParseSwitch(value).value_or(false); }

Status ReadLogLevel(std::string_view value, LogLevel& level) {
  constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                                               {"info", LogLevel::kInfo},
                                                               {"warn", LogLevel::kWarn},
                                                               {"error", LogLevel::kError}};
  const auto* const row =
      std::ranges::find(kLevels, value, &std::pair<std::string_view, LogLevel>::first);
  if (row == std::end(kLevels)) {
    return absl::InvalidArgumentError("must be one of debug, info, warn, error");
  }
  level = row->second;
  return absl::OkStatus();
}

Status ReadLogForm(std::string_view value, LogForm& form) {
  if (value != "text" && value != "json") {
    return absl::InvalidArgumentError("must be \"text\" or \"json\"");
  }
  form = value == "json" ? LogForm::kJson : LogForm::kText;
  return absl::OkStatus();
}

}  // namespace podgpu
