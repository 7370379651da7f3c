#include "cli/help.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/version.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "cli/roles.h"
#include "cli/top_flags.h"

namespace podgpu {
namespace {

constexpr std::string_view kExitCodes =
    "Exit codes: 0 after a signal, 2 for usage and configuration errors (including a\nport in "
    "use), 1 for any other fatal error.\n";
constexpr std::string_view kColumns =
    "| flag | also | variable | kind | default | meaning |\n|---|---|---|---|---|---|\n";

constexpr CommonFlag kCommon[] = {
    {"collectors", "-f, --collectors FILE", "which fields to serve, one per line"},
    {"collect-interval", "-c, --collect-interval TIME", "how often to read (30000 ms)"},
    {"kubernetes", "-k, --kubernetes", "pod, namespace and container on rows"},
    {"kubernetes-enable-pod-labels", "    --kubernetes-enable-pod-labels", "labels of pods too"},
    {"devices", "-d, --devices SELECTION", "which GPUs and MIG instances"},
    {"metrics-views", "    --metrics-views LIST", "dcgm, core, native, process, self"},
    {"process-metrics", "    --process-metrics=on", "processes and their energy"},
    {"remote-hostengine-info", "-r, --remote-hostengine-info ADDR", "use this DCGM host engine"},
    {"address", "-a, --address ADDR", "where to listen (:9400)"},
    {"web-config-file", "    --web-config-file FILE", "TLS and passwords"},
};

std::string FirstScreen() {
  std::string text = absl::StrFormat("podgpu %s: GPU telemetry for Kubernetes nodes\n\n", kVersion);
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&text, "%s%-24s %s\n",
                          &role == Roles().data() ? "Usage: podgpu " : "       podgpu ", role.usage,
                          role.meaning);
  }
  text += "\nFlags of a node that most people use:\n";
  for (const CommonFlag& flag : CommonFlags()) {
    absl::StrAppendFormat(&text, "  %-36s %s\n", flag.form, flag.meaning);
  }
  text += "\nGroups of flags, shown by --help=GROUP (all of them: --help=all):\n";
  for (const FlagGroup& group : FlagGroups()) {
    absl::StrAppendFormat(&text, "  %-14s %s\n", group.name, group.meaning);
  }
  return text +
         "\npodgpu help metrics NAME says what a metric or a DCGM field is.\n"
         "One dash or two, --name=value or --name value; the command line beats variables.\n" +
         std::string(kExitCodes);
}

std::string GroupText(const FlagGroup& group) {
  return absl::StrFormat("%s: %s\n%s", group.title, group.meaning,
                         FlagHelp(FlagTexts(group.flags)));
}

std::string AllFlags() {
  std::string text = absl::StrFormat(
      "podgpu %s: GPU telemetry for Kubernetes nodes\n\nFlags of a node (one dash or two; "
      "--name=value or --name value):\n",
      kVersion);
  for (const FlagGroup& group : FlagGroups()) {
    absl::StrAppendFormat(&text, "\n%s", GroupText(group));
  }
  absl::StrAppendFormat(&text, "\n%s", kExitCodes);
  return text;
}

}  // namespace

std::span<const CommonFlag> CommonFlags() { return kCommon; }

StatusOr<std::string> HelpText(std::string_view topic) {
  if (topic.empty()) {
    return FirstScreen();
  }
  if (topic == "all") {
    return AllFlags();
  }
  std::vector<std::string_view> names = {"all"};
  for (const FlagGroup& group : FlagGroups()) {
    if (group.name == topic) {
      return GroupText(group);
    }
    names.push_back(group.name);
  }
  const std::optional<std::string_view> nearest = Nearest(topic, names);
  return absl::InvalidArgumentError(
      absl::StrFormat("--help: there is no group %s%s. podgpu --help lists the groups",
                      Quoted(topic), nearest ? absl::StrFormat("; nearest is %s", *nearest) : ""));
}

std::string FlagsDocument() {
  std::string text =
      "# Flags\n\nMade from the flag tables of the program; a test keeps it up to date. Every name "
      "may be written with one dash or two,\n`--name=value` or `--name value`; the command line "
      "wins over the environment variable. An invalid value\nends the start with one line and exit "
      "code 2. `podgpu --help=GROUP` prints a group.\n";
  for (const FlagGroup& group : FlagGroups()) {
    absl::StrAppendFormat(&text, "\n## %s\n\n`--help=%s`: %s.\n\n%s%s", group.title, group.name,
                          group.meaning, kColumns, FlagRows(FlagTexts(group.flags)));
  }
  text +=
      "\n## podgpu cluster\n\nThe flags of the cluster role ([cluster.md](cluster.md)), in the "
      "same grammar.\n\n";
  absl::StrAppendFormat(&text, "%s%s", kColumns, FlagRows(FlagTexts(ClusterFlagTable())));
  text +=
      "\n## podgpu doctor\n\nThe flags of the doctor ([doctor.md](doctor.md)), in the same "
      "grammar. It "
      "also takes all flags and variables of the\nexporter, except `--validate` and `--version`, "
      "and judges the configuration that they give.\n\n";
  absl::StrAppendFormat(&text, "%s%s", kColumns, FlagRows(FlagTexts(DoctorFlagTable())));
  text +=
      "\n## podgpu top\n\nThe flags of [top](top.md), in the same grammar; they may stand before "
      "and after the URL.\n\n";
  absl::StrAppendFormat(&text, "%s%s", kColumns, FlagRows(FlagTexts(TopFlagTable())));
  return text;
}

}  // namespace podgpu
