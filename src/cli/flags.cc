#include "cli/flags.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "attribution/pod_labels.h"
#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

constexpr std::string_view kHint = "See podgpu --help";

Status Refused(const std::string& what) { return absl::InvalidArgumentError(what); }

bool IsOfKind(FlagKind kind, std::string_view value) {
  switch (kind) {
    case FlagKind::kBool:
      return ParseGoBool(value).has_value();
    case FlagKind::kInt:
      return ParseGoInt(value).has_value();
    case FlagKind::kDuration:
      return ParseGoDuration(value).has_value();
    case FlagKind::kString:
    case FlagKind::kList:
      return true;
  }
  return false;
}

// What a value of `kind` looks like, for messages.
std::string_view Example(FlagKind kind) {
  switch (kind) {
    case FlagKind::kBool:
      return "true or false";
    case FlagKind::kInt:
      return "a whole number";
    case FlagKind::kDuration:
      return "a duration such as 5s or 1m30s";
    case FlagKind::kString:
    case FlagKind::kList:
      return "a text";
  }
  return "";
}

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : FlagTable()) {
    if (flag.name == name || (!flag.alias.empty() && flag.alias == name)) {
      return &flag;
    }
  }
  return nullptr;
}

Status UnknownFlag(std::string_view argument, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Flag& flag : FlagTable()) {
    names.push_back(flag.name);
  }
  const std::optional<std::string_view> nearest = Nearest(name, names);
  return Refused(absl::StrFormat("unknown flag %s%s. %s", Quoted(argument),
                                 nearest ? absl::StrFormat("; nearest is --%s", *nearest) : "",
                                 kHint));
}

// `origin` is how the user wrote the setting: "--collect-interval" or "DCGM_EXPORTER_INTERVAL".
Status Apply(const Flag& flag, std::string_view origin, std::string_view value,
             NodeCommand& command) {
  if (!IsOfKind(flag.kind, value)) {
    return Refused(
        absl::StrFormat("%s: %s is not %s. %s", origin, Quoted(value), Example(flag.kind), kHint));
  }
  if (const Status status = flag.apply(command, value); !status.ok()) {
    return Refused(
        absl::StrFormat("%s: %s is refused: %s", origin, Quoted(value), status.message()));
  }
  return absl::OkStatus();
}

// An empty variable counts as false for booleans and as unset for everything else, except that
// dcgm-exporter's remote engine is selected by the variable being there at all.
Status ApplyEnvironment(const Environment& environment, NodeCommand& command) {
  for (const Flag& flag : FlagTable()) {
    if (flag.variable.empty()) {
      continue;
    }
    const std::optional<std::string> value = environment(std::string(flag.variable));
    if (!value) {
      continue;
    }
    const bool remote = flag.name == "remote-hostengine-info";
    if (value->empty() && !remote) {
      continue;
    }
    PODGPU_RETURN_IF_ERROR(
        Apply(flag, flag.variable, value->empty() ? flag.default_text : *value, command));
  }
  return absl::OkStatus();
}

// Reads arguments in Go's grammar.
class ArgumentReader {
 public:
  ArgumentReader(std::span<const std::string> arguments, NodeCommand& command)
      : arguments_(arguments), command_(command) {}

  Status ReadAll() {
    while (next_ < arguments_.size()) {
      const std::string_view argument = arguments_[next_];
      if (argument.size() < 2 || argument[0] != '-') {
        break;  // The first positional argument ends the flags.
      }
      ++next_;
      if (argument == "--") {
        break;
      }
      PODGPU_RETURN_IF_ERROR(ReadFlag(argument));
    }
    TakePositionals();
    return absl::OkStatus();
  }

 private:
  Status ReadFlag(std::string_view argument) {
    std::string_view name = argument.substr(argument.starts_with("--") ? 2 : 1);
    std::optional<std::string_view> value;
    if (const size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) {
      return UnknownFlag(argument.substr(0, argument.find('=')), name);
    }
    const std::string origin = absl::StrFormat("--%s", flag->name);
    if (!value && flag->kind == FlagKind::kBool) {
      value = "true";
    }
    if (!value) {
      if (next_ == arguments_.size()) {
        return Refused(
            absl::StrFormat("%s needs a value: %s. %s", origin, Example(flag->kind), kHint));
      }
      value = arguments_[next_++];
    }
    // The command line replaces a list from the environment, and repeated flags append to each
    // other.
    if (flag->kind == FlagKind::kList && std::ranges::count(lists_begun_, flag) == 0) {
      lists_begun_.push_back(flag);
      flag->clear(command_);
    }
    return Apply(*flag, origin, *value, command_);
  }

  void TakePositionals() {
    for (; next_ < arguments_.size(); ++next_) {
      command_.ignored_arguments.push_back(arguments_[next_]);
    }
    const std::vector<std::string>& rest = command_.ignored_arguments;
    if (!rest.empty() && (rest.front() == "help" || rest.front() == "h")) {
      command_.action = NodeCommand::Action::kShowHelp;
    }
  }

  std::span<const std::string> arguments_;
  NodeCommand& command_;
  size_t next_ = 0;
  std::vector<const Flag*> lists_begun_;
};

// The host part of "host:port", brackets removed; the address itself where it has no port.
std::string HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return std::string(address);
  }
  const std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    return std::string(host.substr(1, host.size() - 2));
  }
  return std::string(host.find(':') == std::string_view::npos && !host.starts_with('[') ? host
                                                                                        : address);
}

void TakeCredentials(const std::string& folder, StatusOr<ApiServerOptions>& server) {
  if (server.ok() && !folder.empty()) {
    server->token_path = folder + "/token";
    server->certificate_path = folder + "/ca.crt";
  }
}

// Whoever asks for processes has them on the page, and the other way round.
void ShowProcesses(ExporterOptions& options) {
  const bool on_page = std::ranges::count(options.views, View::kProcess) > 0;
  if (options.processes.enabled && !on_page) {
    options.views.push_back(View::kProcess);
    std::ranges::sort(options.views);
  }
  options.processes.enabled = options.processes.enabled || on_page;
}

void AddVirtualGpuWarnings(const ExporterOptions& options, std::vector<std::string>& warnings) {
  if (!options.view.virtual_gpus) {
    return;
  }
  if (!options.kubernetes) {
    warnings.emplace_back(
        "--kubernetes-virtual-gpus does nothing without --kubernetes (-k), which it needs");
    return;
  }
  warnings.emplace_back(
      "--kubernetes-virtual-gpus: what each pod uses of a shared GPU is not measured, so "
      "DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED have the row of the device and none per pod");
  if (options.pod_labels) {
    warnings.emplace_back("labels of pods are not shown with --kubernetes-virtual-gpus");
  }
  if (options.join.claims) {
    warnings.emplace_back(
        "claims (--kubernetes-enable-dra) are not on DCGM rows with --kubernetes-virtual-gpus");
  }
}

}  // namespace

StatusOr<NodeCommand> ParseFlags(std::span<const std::string> arguments,
                                 const Environment& environment) {
  NodeCommand command;
  PODGPU_RETURN_IF_ERROR(ApplyEnvironment(environment, command));
  PODGPU_RETURN_IF_ERROR(ArgumentReader(arguments, command).ReadAll());
  if (command.exporter.pod_labels) {
    command.exporter.join.pod_labels =
        std::make_shared<const LabelAllowlist>(command.label_patterns);
  }
  ShowProcesses(command.exporter);
  command.exporter.api_server = FindApiServer(environment);
  command.counters.server = FindClusterServer(environment);
  TakeCredentials(command.service_account, command.exporter.api_server);
  TakeCredentials(command.service_account, command.counters.server);
  return command;
}

std::vector<std::string> FlagWarnings(const NodeCommand& command) {
  std::vector<std::string> warnings = command.idle_flags;
  const std::vector<std::string>& ignored = command.ignored_arguments;
  if (!ignored.empty()) {
    warnings.push_back(absl::StrFormat(
        "argument %s ends the flags; it is ignored%s. Begin flags with a dash, or "
        "remove it",
        Quoted(ignored.front()),
        ignored.size() == 1 ? "" : absl::StrFormat(", with the %d behind it", ignored.size() - 1)));
  }
  if (!command.exporter.kubernetes &&
      (command.exporter.pod_labels || command.exporter.view.pod_uid)) {
    warnings.emplace_back(
        "labels and uids of pods were asked for without --kubernetes (-k), which they need");
  }
  if (command.exporter.join.claims && !command.exporter.kubernetes) {
    warnings.emplace_back(
        "--kubernetes-enable-dra does nothing without --kubernetes (-k), which it needs");
  }
  AddVirtualGpuWarnings(command.exporter, warnings);
  if (const auto& allowlist = command.exporter.join.pod_labels) {
    warnings.insert(warnings.end(), allowlist->complaints().begin(), allowlist->complaints().end());
  }
  return warnings;
}

std::string HostnameLabelValue(const NodeCommand& command, const Environment& environment,
                               std::string_view system_hostname) {
  if (command.no_hostname) {
    return {};
  }
  if (!command.source.address.empty() && !command.exporter.kubernetes) {
    return HostOf(command.source.address);
  }
  const std::optional<std::string> node_name = environment("NODE_NAME");
  return node_name && !node_name->empty() ? *node_name : std::string(system_hostname);
}

OwnPod FindOwnPod(const NodeCommand& command, const Environment& environment,
                  std::string_view system_hostname, const Files& files) {
  if (!environment("KUBERNETES_SERVICE_HOST")) {
    return {};
  }
  OwnPod own{environment("POD_NAME").value_or(""), environment("POD_NAMESPACE").value_or("")};
  if (own.name.empty()) {
    own.name = system_hostname;
  }
  if (own.name_space.empty()) {
    const std::string folder =
        command.service_account.empty() ? std::string(kServiceAccount) : command.service_account;
    own.name_space = Trim(files.Read(folder + "/namespace").value_or(""));
  }
  return own;
}

std::string HelpText() {
  std::string text = absl::StrFormat(
      "podgpu %s: GPU telemetry for Kubernetes nodes\n\nUsage: podgpu [node] [flags]\n       "
      "podgpu completion bash|zsh|fish\n\nFlags (one "
      "dash or two; "
      "--name=value or --name value):\n",
      kVersion);
  for (const Flag& flag : FlagTable()) {
    const std::string alias = flag.alias.empty() ? "" : absl::StrFormat(", -%s", flag.alias);
    absl::StrAppendFormat(&text, "  --%s%s  %s\n        %s\n", flag.name, alias,
                          FlagKindName(flag.kind), flag.help);
    if (!flag.variable.empty() || !flag.default_text.empty()) {
      absl::StrAppendFormat(
          &text, "       %s%s\n",
          flag.default_text.empty() ? "" : absl::StrFormat(" default %s;", flag.default_text),
          flag.variable.empty() ? "" : absl::StrFormat(" variable %s", flag.variable));
    }
  }
  return text +
         "\nExit codes: 0 after a signal, 2 for usage and configuration (a taken port too), 1 for "
         "anything else fatal.\n";
}

std::string FlagsDocument() {
  std::string text =
      "# Flags\n\nMade from the flag table of the program; a test keeps it in step. Every name may "
      "be written with one "
      "dash or two,\n`--name=value` or `--name value`; the command line wins over the environment "
      "variable. A value "
      "that cannot be understood\nends the start with one line and exit code 2.\n\n"
      "| flag | short | variable | kind | default | meaning |\n|---|---|---|---|---|---|\n";
  for (const Flag& flag : FlagTable()) {
    const auto code = [](std::string_view part) {
      return part.empty() ? "" : absl::StrFormat("`%s`", part);
    };
    absl::StrAppendFormat(&text, "| `--%s` | %s | %s | %s | %s | %s |\n", flag.name,
                          flag.alias.empty() ? "" : absl::StrFormat("`-%s`", flag.alias),
                          code(flag.variable), FlagKindName(flag.kind), code(flag.default_text),
                          flag.help);
  }
  return text;
}

}  // namespace podgpu
