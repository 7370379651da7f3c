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
     "Switch on the driver's accounting on every GPU that is not in MIG mode, print the result for "
     "each, and exit. It stays on until the driver is unloaded, and needs root: use it in an init "
     "container, so that podgpu itself need not be root.",
     [](DoctorCommand& command, std::string_view value) {
       command.enable_accounting = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"libnvidia-ml", "", "PODGPU_LIBNVIDIA_ML", FlagKind::kString, "searched",
     "Path of libnvidia-ml.so.1 if it is not in a usual place.",
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
    return absl::InvalidArgumentError(absl::StrFormat(
        "argument %s is not an argument of podgpu doctor. %s", Quoted(rest.front()), kDoctorHint));
  }
  if (!command.enable_accounting) {
    return absl::InvalidArgumentError(
        absl::StrFormat("doctor needs a task. It has one: --enable-accounting, which switches on "
                        "the accounting of processes. %s",
                        kDoctorHint));
  }
  return command;
}

std::span<const FlagOf<DoctorCommand>> DoctorFlagTable() { return kDoctorFlags; }

std::string DoctorHelpText() {
  return absl::StrFormat(
      "podgpu %s: prepares a node for podgpu\n\nUsage: podgpu doctor --enable-accounting "
      "[flags]\n\nFlags (one dash or two; --name=value or --name value):\n%s\nExit codes: 0 when "
      "accounting is on wherever the GPU supports it, 1 when a GPU refuses it or GPUs cannot be "
      "reached, 2 for usage errors.\n",
      kVersion, FlagHelp(FlagTexts(DoctorFlagTable())));
}

}  // namespace podgpu
