#include "cli/doctor_flags.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

constexpr std::string_view kDoctorHint = "See podgpu doctor --help";

Status ReadColour(DoctorCommand& command, std::string_view value) {
  constexpr std::array<std::pair<std::string_view, ColourUse>, 3> kWords = {
      {{"auto", ColourUse::kAuto}, {"always", ColourUse::kAlways}, {"never", ColourUse::kNever}}};
  const auto* const row =
      std::ranges::find(kWords, value, &std::pair<std::string_view, ColourUse>::first);
  if (row == kWords.end()) {
    return absl::InvalidArgumentError("must be one of auto, always, never");
  }
  command.colour = row->second;
  return absl::OkStatus();
}

constexpr FlagOf<DoctorCommand> kDoctorFlags[] = {
    {"json", "", "", FlagKind::kBool, "false",
     "Print the result as JSON (docs/doctor.schema.json).",
     [](DoctorCommand& command, std::string_view value) {
       command.json = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"verbose", "v", "", FlagKind::kBool, "false",
     "Print all checks with their evidence: paths that were tried, a row per GPU.",
     [](DoctorCommand& command, std::string_view value) {
       command.verbose = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"only", "", "", FlagKind::kList, "",
     "Print only these checks: ids such as gpu.states, or the first part of ids such as kube.",
     [](DoctorCommand& command, std::string_view value) {
       for (const std::string_view part : Split(value, ',')) {
         command.only.emplace_back(Trim(part));
       }
       return absl::OkStatus();
     },
     [](DoctorCommand& command) { command.only.clear(); }},
    {"color", "", "", FlagKind::kString, "auto",
     "Colour of the status words: auto (on a terminal, without NO_COLOR and TERM=dumb), always or "
     "never.",
     ReadColour},
    {"report", "", "", FlagKind::kOptional, "",
     "Write one file for a support case: configuration without secrets, versions, checks, states "
     "of the running exporter, and its metrics about itself. --report=FILE names the file.",
     [](DoctorCommand& command, std::string_view value) {
       command.report = std::string(value);
       return absl::OkStatus();
     }},
    {"report-pods", "", "", FlagKind::kBool, "false",
     "Leave the names of pods and namespaces in the file of --report.",
     [](DoctorCommand& command, std::string_view value) {
       command.report_pods = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"report-for", "", "", FlagKind::kDuration, "1m0s",
     "How long --report reads the metrics of the running exporter about itself, from 0s to 10m.",
     [](DoctorCommand& command, std::string_view value) {
       constexpr std::chrono::minutes kLongest{10};
       const auto given = ParseGoDuration(value).value_or(std::chrono::nanoseconds(-1));
       if (given < std::chrono::nanoseconds(0) || given > kLongest) {
         return absl::InvalidArgumentError("must be from 0s to 10m");
       }
       command.report_for = std::chrono::duration_cast<std::chrono::milliseconds>(given);
       return absl::OkStatus();
     }},
    {"node-web-config", "", "", FlagKind::kString, "",
     "The password of the running exporter, if it asks for one: a YAML file with basic_auth or "
     "authorization, as in Prometheus.",
     [](DoctorCommand& command, std::string_view value) {
       command.node_web_config = std::string(value);
       return absl::OkStatus();
     }},
    {"enable-accounting", "", "", FlagKind::kBool, "false",
     "Do nothing but this: switch on the driver's accounting on every GPU that is not in MIG mode, "
     "print the result for each, and exit with 0, or with 1 when a GPU refuses. It stays on until "
     "the driver is unloaded, and needs root: use it in an init container, so that podgpu itself "
     "need not be root.",
     [](DoctorCommand& command, std::string_view value) {
       command.enable_accounting = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"help", "h", "", FlagKind::kBool, "false", "Print this text.",
     [](DoctorCommand& command, std::string_view value) {
       command.wants_help = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
};

bool IsDoctors(std::string_view name) {
  return std::ranges::any_of(kDoctorFlags, [name](const auto& flag) { return flag.name == name; });
}

// Adds the flags of the node.  If the doctor has the same flag, only the variable of the node's
// flag stays.
void AddNodeFlags(std::vector<BoundFlag>& flags, NodeCommand& node) {
  for (BoundFlag& flag : BindFlags(FlagTable(), node)) {
    if (flag.text.name == "validate" || flag.text.name == "version" || flag.text.name == "help") {
      continue;
    }
    if (IsDoctors(flag.text.name)) {
      flag.text.name = {};
    }
    flags.push_back(std::move(flag));
  }
}

// Makes each flag note that it was given.
void NoteSettings(std::vector<BoundFlag>& flags, std::vector<GivenSetting>& settings) {
  for (BoundFlag& flag : flags) {
    const std::string name(flag.text.name.empty() ? flag.text.variable : flag.text.name);
    flag.apply = [name, apply = std::move(flag.apply), &settings](std::string_view value) {
      settings.push_back({name, std::string(value)});
      return apply(value);
    };
  }
}

}  // namespace

StatusOr<DoctorCommand> ParseDoctorFlags(std::span<const std::string> arguments,
                                         const Environment& environment) {
  DoctorCommand command;
  std::vector<BoundFlag> flags = BindFlags(DoctorFlagTable(), command);
  AddNodeFlags(flags, command.node);
  NoteSettings(flags, command.settings);
  PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string> rest,
                          ReadFlags(flags, arguments, environment, kDoctorHint));
  if (command.wants_help || (!rest.empty() && rest.front() == "help")) {
    command.wants_help = true;
    return command;
  }
  if (!rest.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "argument %s is not an argument of podgpu doctor. %s", Quoted(rest.front()), kDoctorHint));
  }
  PODGPU_RETURN_IF_ERROR(CompleteFlags(command.node, environment));
  return command;
}

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable() { return kDoctorFlags; }

std::string DoctorHelpText() {
  return absl::StrFormat(
      "podgpu %s: says what this node gives, what is missing, and the change that helps\n\nUsage: "
      "podgpu doctor [flags]\n\nIt takes the flags and variables of the exporter too (podgpu "
      "--help), and changes nothing.\n\nFlags (one dash or two; --name=value or --name "
      "value):\n%s\nExit codes: 0 when all that is asked for works, 1 for a warn, 2 for usage and "
      "configuration errors, 3 for a fail.\n",
      kVersion, FlagHelp(FlagTexts(DoctorFlagTable())));
}

}  // namespace podgpu
