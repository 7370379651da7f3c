// Any argument list. Invariants: an accepted value is within the limits of its flag; one or two
// dashes, and a value after a blank or after an equals sign, mean the same; an error is one line of
// valid text with a remedy. Input: the arguments, separated by zero bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cli/flag_table.h"
#include "cli/flags.h"

namespace podgpu {
namespace {

std::optional<std::string> Unset(const std::string& /*name*/) { return std::nullopt; }

// Returns all values of a command as one text, to compare two commands.
std::string Digest(const NodeCommand& command) {
  const ExporterOptions& exporter = command.exporter;
  std::string digest = absl::StrFormat(
      "%d|%s|%d|%d|%d|%s|%d|%d|%d|%s|%s|%s|%s|%s|%d%d%d%d|%s", static_cast<int>(command.action),
      command.counters.path, command.no_hostname, static_cast<int>(command.log_level),
      static_cast<int>(command.log_form), exporter.http.address, exporter.collect_interval.count(),
      exporter.stale_after.count(), exporter.kubernetes, command.source.address,
      command.source.dcgm_library, command.source.nvml_library, command.kubelet.socket,
      exporter.view.hostname_label, exporter.view.use_old_namespace,
      exporter.view.replace_blanks_in_model_name, exporter.view.kubernetes, exporter.view.pod_uid,
      exporter.view.version->name);
  for (const View view : exporter.views) {
    digest += absl::StrFormat("|view %d", static_cast<int>(view));
  }
  for (const std::string& name : exporter.join.extra_resource_names) {
    digest += "|resource " + name;
  }
  for (const std::string& argument : command.ignored_arguments) {
    digest += "|ignored " + argument;
  }
  return digest;
}

void CheckUnderstood(const NodeCommand& command) {
  using std::chrono::milliseconds;
  const ExporterOptions& exporter = command.exporter;
  PODGPU_CHECK(exporter.collect_interval >= milliseconds(100) &&
               exporter.collect_interval <= milliseconds(3'600'000));
  PODGPU_CHECK(exporter.stale_after == milliseconds(0) ||
               exporter.stale_after >= milliseconds(100));
  PODGPU_CHECK(!exporter.views.empty() && std::ranges::is_sorted(exporter.views));
  PODGPU_CHECK(exporter.kubernetes == exporter.view.kubernetes);
  for (const std::string& warning : FlagWarnings(command)) {
    PODGPU_CHECK(CleanUtf8(warning) == warning && warning.find('\n') == std::string::npos);
  }
  HostnameLabelValue(command, Unset, "host");
}

void CheckRefused(const Status& status) {
  const std::string line(status.message());
  PODGPU_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  PODGPU_CHECK(CleanUtf8(line) == line && line.size() < 800);
  PODGPU_CHECK(std::ranges::none_of(line, [](char c) { return c >= 0 && c < ' '; }));
  const bool helps = line.ends_with("See podgpu --help") || line.find(" must be ") != line.npos ||
                     line.find(" is not one of ") != line.npos;
  PODGPU_CHECK(helps);
}

// Returns the same arguments with the other number of dashes, and each value in an argument of its
// own.
std::vector<std::string> Respelled(const std::vector<std::string>& arguments) {
  std::vector<std::string> respelled;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name.size() < 2 || name[0] != '-' || name == "--") {
      respelled.insert(respelled.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                       arguments.end());
      break;  // All further arguments are positional.
    }
    const bool had_two = name.starts_with("--");
    name.remove_prefix(had_two ? 2 : 1);
    if (name.starts_with('-')) {  // Three dashes: with two it would be another name.
      respelled.push_back(arguments[i]);
      continue;
    }
    const size_t equals = std::min(name.find('='), name.size());
    const auto flags = FlagTable();
    const auto flag = std::ranges::find_if(flags, [&](const Flag& row) {
      return row.name == name.substr(0, equals) ||
             (!row.alias.empty() && row.alias == name.substr(0, equals)) ||
             (!row.other_name.empty() && row.other_name == name.substr(0, equals));
    });
    const bool takes_next = flag != flags.end() && flag->kind != FlagKind::kBool &&
                            flag->kind != FlagKind::kSwitch && flag->kind != FlagKind::kOptional;
    const std::string dashes = had_two ? "-" : "--";
    if (equals < name.size() && takes_next) {
      respelled.push_back(dashes + std::string(name.substr(0, equals)));
      respelled.emplace_back(name.substr(equals + 1));
    } else {
      respelled.push_back(dashes + std::string(name));
      if (takes_next && equals == name.size() && i + 1 < arguments.size()) {
        respelled.push_back(arguments[++i]);
      }
    }
  }
  return respelled;
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  for (const std::string_view part : podgpu::Split(bytes, '\0')) {
    arguments.emplace_back(part);
  }
  const auto command = podgpu::ParseFlags(arguments, podgpu::Unset);
  const auto again = podgpu::ParseFlags(podgpu::Respelled(arguments), podgpu::Unset);
  PODGPU_CHECK(command.ok() == again.ok());
  if (command.ok()) {
    podgpu::CheckUnderstood(*command);
    PODGPU_CHECK(podgpu::Digest(*command) == podgpu::Digest(*again));
  } else {
    podgpu::CheckRefused(command.status());
  }
  return 0;
}
