#include "cli/doctor_flags.h"

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"

namespace podgpu {
namespace {

constexpr std::string_view kDoctorHint = "See podgpu doctor --help";

constexpr FlagOf<DoctorCommand> kDoctorFlags[] = {
    {"enable-accounting", "", "PODGPU_ENABLE_ACCOUNTING", FlagKind::kBool, "false",
     "Switch the driver's accounting on, on every GPU that is not in MIG mode, say of each what "
     "was "
     "done, and end. It holds until the driver is unloaded, and needs root: for an init container, "
     "so that podgpu itself need not be root.",
     [](DoctorCommand& command, std::string_view value) {
       command.enable_accounting = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"libnvidia-ml", "", "PODGPU_LIBNVIDIA_ML", FlagKind::kString, "searched",
     "Path of libnvidia-ml.so.1 when it is in none of the usual places.",
     [](DoctorCommand& command, std::string_view value) {
       command.nvml_library = std::string(value);
       return absl::OkStatus();
     }},
    {"help", "h", "", FlagKind::kBool, "false", "Print this text.",
     [](DoctorCommand& command, std::string_view value) {
       command.wants_help = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
};

}  // namespace

StatusOr<DoctorCommand> ParseDoctorFlags(std::span<const std::string> arguments,
                                         const Environment& environment) {
  DoctorCommand command;
  PODGPU_ASSIGN_OR_RETURN(
      const std::vector<std::string> rest,
      ReadFlags(BindFlags(DoctorFlagTable(), command), arguments, environment, kDoctorHint));
  if (command.wants_help || (!rest.empty() && rest.front() == "help")) {
    command.wants_help = true;
    return command;
  }
  if (!rest.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat("argument %s is none of podgpu doctor. %s",
                                                      Quoted(rest.front()), kDoctorHint));
  }
  if (!command.enable_accounting) {
    return absl::InvalidArgumentError(
        absl::StrFormat("doctor is given no task. It has one: --enable-accounting, which switches "
                        "the accounting of "
                        "processes on. %s",
                        kDoctorHint));
  }
  return command;
}

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable() { return kDoctorFlags; }

std::string DoctorHelpText() {
  return absl::StrFormat(
      "podgpu %s: prepares a node for podgpu\n\nUsage: podgpu doctor --enable-accounting "
      "[flags]\n\nFlags (one dash or two; --name=value or --name value):\n%s\nExit codes: 0 when "
      "every GPU has what it can have, 1 when one refuses it or GPUs cannot be reached, 2 for "
      "usage.\n",
      kVersion, FlagHelp(FlagTexts(DoctorFlagTable())));
}

}  // namespace podgpu
