#include "cli/config_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "cli/config_file.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

// Reads each value as the variable of its flag, to report a mistake with its place in the file.
Status CheckSettings(const ConfigFile& config) {
  for (const auto& [variable, setting] : config.settings) {
    NodeCommand scratch;
    const auto only_it = [&](const std::string& name) {
      return name == variable ? std::optional(setting.value) : std::nullopt;
    };
    const Status status = ReadFlags(BindFlags(FlagTable(), scratch), {}, only_it, "").status();
    if (!status.ok()) {
      const std::string message(status.message());
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s:%d: %s%s", config.path, setting.line, setting.key, message.substr(variable.size())));
    }
  }
  return absl::OkStatus();
}

StatusOr<ConfigFile> LoadConfigFile(const std::string& path, const Files& files) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--config-file: %s. Correct the path, or remove the flag", text.status().message()));
  }
  PODGPU_ASSIGN_OR_RETURN(ConfigFile config, ParseConfigFile(*text, path));
  PODGPU_RETURN_IF_ERROR(CheckSettings(config));
  return config;
}

// A variable that is really set wins.  An empty one counts as not set, as for other variables.
Environment Layered(const Environment& environment, const ConfigFile& config) {
  return [&environment, &config](const std::string& name) {
    std::optional<std::string> value = environment(name);
    const auto setting = config.settings.find(name);
    const bool is_ours = (!value || value->empty()) && setting != config.settings.end();
    return is_ours ? std::optional(setting->second.value) : value;
  };
}

// A line about a flag without effect names the key where the configuration has set it.
void NameKeys(const ConfigFile& config, std::vector<std::string>& lines) {
  for (const Flag& flag : FlagTable()) {
    const auto setting = config.settings.find(std::string(flag.variable));
    if (setting == config.settings.end()) {
      continue;
    }
    const std::string begin = absl::StrFormat("--%s ", flag.name);
    for (std::string& line : lines) {
      if (line.starts_with(begin)) {
        line = absl::StrFormat("%s:%d: %s %s", config.path, setting->second.line,
                               setting->second.key, line.substr(begin.size()));
      }
    }
  }
}

void TakeConfig(ConfigFile config, NodeCommand& command) {
  NameKeys(config, command.idle_flags);
  std::ranges::copy(config.idle, std::back_inserter(command.idle_flags));
  CountersSourceOptions& counters = command.counters;
  const bool names_another_list = !counters.path.empty() || command.names_no_config_map;
  if (!config.counters.counters.empty() && !names_another_list) {
    counters.list = config.counters;
    counters.path = config.path;
  } else if (!config.counters.counters.empty()) {
    command.idle_flags.push_back(absl::StrFormat(
        "%s: metrics.fields has no effect: --collectors or --configmap-data names another list. "
        "Remove one",
        config.path));
  }
  const auto file = config.settings.find("DCGM_EXPORTER_COLLECTORS");
  if (file != config.settings.end() && counters.path == file->second.value) {
    counters.setting =
        absl::StrFormat("%s in line %d of %s", file->second.key, file->second.line, config.path);
  }
  command.config = std::move(config);
}

// Parses twice where a configuration is named: the first time to know its path.
template <typename Command>
StatusOr<Command> ReadCommand(const auto& parse, NodeCommand& (*node_of)(Command&),
                              bool (*needs_config)(const Command&), const Environment& environment,
                              const Files& files) {
  StatusOr<Command> command = parse(environment);
  if (!command.ok() || node_of(*command).config_file.empty() || !needs_config(*command)) {
    return command;
  }
  PODGPU_ASSIGN_OR_RETURN(ConfigFile config, LoadConfigFile(node_of(*command).config_file, files));
  command = parse(Layered(environment, config));
  if (command.ok()) {
    TakeConfig(std::move(config), node_of(*command));
  }
  return command;
}

}  // namespace

StatusOr<NodeCommand> ReadNodeCommand(std::span<const std::string> arguments,
                                      const Environment& environment, const Files& files,
                                      CalledAs called_as) {
  return ReadCommand<NodeCommand>(
      [&](const Environment& variables) { return ParseFlags(arguments, variables, called_as); },
      [](NodeCommand& command) -> NodeCommand& { return command; },
      [](const NodeCommand& command) {
        return command.action == NodeCommand::Action::kRun ||
               command.action == NodeCommand::Action::kValidate;
      },
      environment, files);
}

StatusOr<DoctorCommand> ReadDoctorCommand(std::span<const std::string> arguments,
                                          const Environment& environment, const Files& files) {
  return ReadCommand<DoctorCommand>(
      [&](const Environment& variables) { return ParseDoctorFlags(arguments, variables); },
      [](DoctorCommand& command) -> NodeCommand& { return command.node; },
      [](const DoctorCommand& command) {
        return !command.wants_help && !command.enable_accounting;
      },
      environment, files);
}

}  // namespace podgpu
