#include "doctor/doctor.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cluster/node_web_config.h"
#include "doctor/checks.h"
#include "doctor/json_form.h"
#include "doctor/run.h"
#include "doctor/support_report.h"
#include "doctor/text_form.h"

namespace podgpu {
namespace {

bool IsNamedBy(std::string_view id, std::string_view only) {
  return id == only || (id.starts_with(only) && id.substr(only.size()).starts_with('.'));
}

}  // namespace

Status CheckOnly(const std::vector<std::string>& only) {
  for (const std::string& name : only) {
    const bool is_known = std::ranges::any_of(
        CheckTable(), [&name](const Check& check) { return IsNamedBy(check.id, name); });
    if (is_known) {
      continue;
    }
    std::vector<std::string_view> ids;
    for (const Check& check : CheckTable()) {
      ids.push_back(check.id);
    }
    const std::optional<std::string_view> nearest = Nearest(name, ids);
    return absl::InvalidArgumentError(
        absl::StrFormat("--only: no check has the id %s%s. podgpu doctor -v lists all",
                        Quoted(name), nearest ? absl::StrFormat("; nearest is %s", *nearest) : ""));
  }
  return absl::OkStatus();
}

void KeepOnly(DoctorResult& result, const std::vector<std::string>& only) {
  if (!only.empty()) {
    std::erase_if(result.checks, [&only](const CheckResult& check) {
      return std::ranges::none_of(
          only, [&check](const std::string& name) { return IsNamedBy(check.id, name); });
    });
  }
}

bool UsesColour(ColourUse use, bool is_terminal, const Environment& environment) {
  if (use != ColourUse::kAuto) {
    return use == ColourUse::kAlways;
  }
  return is_terminal && environment("NO_COLOR").value_or("").empty() &&
         environment("TERM").value_or("") != "dumb";
}

StatusOr<DoctorAnswer> RunDoctor(const DoctorCommand& command, const DoctorSeams& seams,
                                 const DoctorOutput& output) {
  PODGPU_RETURN_IF_ERROR(CheckOnly(command.only));
  DoctorSeams given = seams;
  if (!command.node_web_config.empty()) {
    PODGPU_ASSIGN_OR_RETURN(NodeWebAccess access,
                            ReadNodeWebConfig(command.node_web_config, seams.files));
    given.authorization = std::move(access.authorization);
  }
  const auto session = std::make_shared<Session>(command.node, given);
  DoctorResult result = RunChecks(session);
  std::string written;
  if (command.report) {
    PODGPU_ASSIGN_OR_RETURN(written, WriteSupportReport(command, *session, result));
  }
  KeepOnly(result, command.only);
  DoctorAnswer answer{.exit_code = result.exit_code()};
  if (command.json) {
    answer.text = AsJson(result);
    return answer;
  }
  answer.text =
      AsText(result, {.width = output.width,
                      .verbose = command.verbose,
                      .colour = UsesColour(command.colour, output.is_terminal, seams.environment)});
  if (!written.empty()) {
    absl::StrAppendFormat(&answer.text, "report: %s\n", written);
  }
  return answer;
}

}  // namespace podgpu
