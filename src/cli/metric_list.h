// The list of metrics of a node as the exporter uses it: read from its source, with the patterns of
// the flags and the collections of the YAML configuration applied.
//
// It also follows the YAML configuration.  A changed configuration is read like the flags; its list
// of metrics and its collections are used at once.  Its other settings count from the next start,
// and a warning says so.  As with the counters file (fields/counters_file.h), a change counts once
// two looks have seen the same text.  Main thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "cli/flags.h"
#include "exporter/counters_looks.h"
#include "exporter/counters_source.h"

namespace podgpu {

// Reads flags, variables and configuration (config_flags.h).
using CommandReader = std::function<StatusOr<NodeCommand>()>;

class MetricList {
 public:
  // `files` and `clock` outlive this.  `read_again`: called when the configuration has changed; may
  // be null where none is followed.
  MetricList(const NodeCommand& command, CommandReader read_again, const Files& files,
             Clock& clock);

  // Reads the list now.  kInvalidArgument with the complete one-line message.
  StatusOr<Counters> Load();
  // Reads the configuration and the list now.
  StatusOr<Counters> LoadAgain();
  // Returns a changed list, or why it is refused; nothing when there is no change since the last
  // call.
  std::optional<StatusOr<Counters>> LoadIfChanged();

  // Waits until `other` is readable or LoadIfChanged is due; returns whether it is due.
  bool Await(int other);

  // Returns the warnings about flags, the configuration and the source of the list.
  std::vector<std::string> warnings() const;

 private:
  // The parts of a command that the list needs.
  struct Settings {
    CountersSourceOptions counters;
    MetricPatterns patterns;
    ConfigFile config;
    std::chrono::milliseconds interval{0};
    std::vector<std::string> warnings;
  };
  static Settings SettingsOf(const NodeCommand& command);

  void Take(Settings settings);
  StatusOr<Counters> Complete(StatusOr<Counters> counters) const;
  // The text of the configuration, or that it cannot be read.
  struct ConfigText {
    bool is_readable = false;
    std::string text;
    bool operator==(const ConfigText&) const = default;
  };
  ConfigText LookAtConfig() const;

  const CommandReader read_again_;
  const Files& files_;
  Clock& clock_;
  const std::string config_path_;             // Empty: no configuration.
  const std::chrono::milliseconds interval_;  // Of the start.
  Settings settings_;
  std::unique_ptr<CountersSource> source_;
  std::optional<CountersLooks> looks_;  // Made by the first Await.
  ConfigText judged_;                   // That was read last.
  std::optional<ConfigText> changed_;   // Differs from `judged_`; seen once so far.
  bool is_refused_ = false;             // The configuration that was read last.
};

// Returns one line for each collection, for --validate: its interval and its metrics.
std::string CollectionsText(const Counters& counters);

}  // namespace podgpu
