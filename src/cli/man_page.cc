#include "cli/man_page.h"

#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/roff.h"
#include "base/version.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "cli/roles.h"
#include "cli/top_flags.h"

namespace podgpu {
namespace {

constexpr std::string_view kOpening =
    ".SH NAME\n"
    "podgpu \\- GPU metrics for Prometheus, with the pod or the job that uses each GPU\n"
    ".SH SYNOPSIS\n"
    ".B podgpu\n[\\fBnode\\fR] [\\fIFLAG\\fR...]\n"
    ".br\n"
    ".B podgpu cluster \\-\\-nodes=\\fINODES\\fR\n[\\fIFLAG\\fR...]\n"
    ".br\n"
    ".B podgpu doctor\n[\\fIFLAG\\fR...]\n"
    ".br\n"
    ".B podgpu top\n[\\fIURL\\fR] [\\fIFLAG\\fR...]\n"
    ".br\n"
    ".B podgpu completion\n\\fBbash\\fR|\\fBzsh\\fR|\\fBfish\\fR\n"
    ".SH DESCRIPTION\n"
    "podgpu reads the GPUs of this machine through NVIDIA's DCGM or NVML, and serves their values "
    "over HTTP as dcgm\\-exporter does: on port 9400 under /metrics. Its flags and variables have "
    "dcgm\\-exporter's names where dcgm\\-exporter has them.\n"
    ".PP\n"
    "A flag may be written with one dash or two, as \\fB\\-\\-name=value\\fR or \\fB\\-\\-name "
    "value\\fR. Most flags can also be set by an environment variable; the command line wins.\n";

constexpr std::string_view kClosing =
    ".SH FILES\n"
    ".TP\n.I /etc/default/podgpu\n"
    "Variables of the service of systemd, in the package for Debian.\n"
    ".TP\n.I /etc/dcgm\\-exporter/default\\-counters.csv\n"
    "The list of counters, if the file exists and \\fB\\-\\-collectors\\fR is not given.\n"
    ".TP\n.I /usr/share/podgpu/\n"
    "Templates of such lists.\n"
    ".SH SIGNALS\n"
    "SIGTERM, SIGINT and SIGQUIT end the program. SIGHUP makes it read the list of counters "
    "again.\n"
    ".SH EXIT STATUS\n"
    "0 after a signal, 2 for errors of usage and configuration (including a port in use), 1 for "
    "any other fatal error.\n"
    ".SH SEE ALSO\n"
    ".BR systemctl (1)\n";

// Returns for example "\fB--address\fR \fIstring\fR, \fB-a\fR".
std::string NamesOf(const FlagText& flag) {
  std::string names = absl::StrFormat("\\fB%s\\fR", RoffText(absl::StrFormat("--%s", flag.name)));
  if (flag.kind == FlagKind::kOptional) {
    names += absl::StrFormat("[=\\fI%s\\fR]", FlagKindName(flag.kind));
  } else if (flag.kind != FlagKind::kBool) {
    names += absl::StrFormat("=\\fI%s\\fR", FlagKindName(flag.kind));
  }
  if (!flag.alias.empty()) {
    names += absl::StrFormat(", \\fB%s\\fR", RoffText(absl::StrFormat("-%s", flag.alias)));
  }
  if (!flag.other_name.empty()) {
    names += absl::StrFormat(", \\fB%s\\fR", RoffText(absl::StrFormat("--%s", flag.other_name)));
  }
  return names;
}

std::string SectionOf(std::string_view heading, std::span<const FlagText> flags) {
  std::string text = absl::StrFormat(".SH %s\n", heading);
  for (const FlagText& flag : flags) {
    absl::StrAppendFormat(&text, ".TP\n%s\n%s\n", NamesOf(flag), RoffText(flag.help));
    if (!flag.default_text.empty()) {
      absl::StrAppendFormat(&text, ".br\nDefault: %s\n", RoffText(flag.default_text));
    }
    if (!flag.variable.empty()) {
      absl::StrAppendFormat(&text, ".br\nVariable: \\fB%s\\fR\n", flag.variable);
    }
  }
  return text;
}

std::string CommandSection() {
  std::string text = ".SH COMMANDS\n";
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&text, ".TP\n.B %s\n%s.\n", role.name, RoffText(role.meaning));
  }
  return text;
}

}  // namespace

std::string ManPage() {
  std::string text =
      absl::StrFormat(".TH PODGPU 1 \"\" \"podgpu %s\" \"User Commands\"\n", kVersion);
  text += kOpening;
  text += CommandSection();
  text += SectionOf("OPTIONS", FlagTexts(FlagTable()));
  text += SectionOf("OPTIONS OF PODGPU CLUSTER", FlagTexts(ClusterFlagTable()));
  text += SectionOf("OPTIONS OF PODGPU DOCTOR", FlagTexts(DoctorFlagTable()));
  text += SectionOf("OPTIONS OF PODGPU TOP", FlagTexts(TopFlagTable()));
  return text + std::string(kClosing);
}

}  // namespace podgpu
