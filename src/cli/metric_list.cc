#include "cli/metric_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "fields/match_collections.h"

namespace podgpu {
namespace {

// Returns the names of the field on the list; that of a field that is read for DCGM_EXP_* counters
// alone is its own.
std::vector<std::string> NamesOf(uint16_t field, const Counters& list) {
  std::vector<std::string> names;
  for (const Counter& counter : list.counters) {
    if (counter.field != nullptr && counter.field->id == field) {
      names.push_back(counter.name);
    }
  }
  if (names.empty()) {
    names.emplace_back(FindField(field)->familiar_name());
  }
  return names;
}

}  // namespace

MetricList::MetricList(const NodeCommand& command, CommandReader read_again, const Files& files,
                       Clock& clock)
    : read_again_(std::move(read_again)),
      files_(files),
      clock_(clock),
      config_path_(command.config_file),
      interval_(command.exporter.collect_interval),
      judged_{true, command.config.text} {
  Take(SettingsOf(command));
}

MetricList::Settings MetricList::SettingsOf(const NodeCommand& command) {
  return {.counters = command.counters,
          .patterns = command.patterns,
          .config = command.config,
          .interval = command.exporter.collect_interval,
          .warnings = FlagWarnings(command)};
}

void MetricList::Take(Settings settings) {
  settings_ = std::move(settings);
  looks_.reset();
  // A ConfigMap that has been read stays: the API server may be unreachable now.
  const bool has_config_map =
      source_ != nullptr && settings_.counters.config_map && source_->warning().empty();
  if (!has_config_map) {
    source_.reset();  // Its thread ends before the next one starts.
    source_ = std::make_unique<CountersSource>(settings_.counters, files_, clock_);
  }
}

StatusOr<Counters> MetricList::Load() { return Complete(source_->Load()); }

StatusOr<Counters> MetricList::LoadAgain() {
  if (!config_path_.empty()) {
    changed_.reset();
    judged_ = LookAtConfig();
    const StatusOr<NodeCommand> command = read_again_();
    is_refused_ = !command.ok();
    PODGPU_RETURN_IF_ERROR(command.status());
    Take(SettingsOf(*command));
    Log(LogLevel::kInfo, "configuration read again", {{"path", config_path_}});
  }
  return Load();
}

std::optional<StatusOr<Counters>> MetricList::LoadIfChanged() {
  if (!config_path_.empty()) {
    ConfigText seen = LookAtConfig();
    if (seen != judged_ && changed_ == std::optional(seen)) {
      return LoadAgain();
    }
    if (seen != judged_) {
      changed_ = std::move(seen);
      return std::nullopt;
    }
    changed_.reset();
    if (is_refused_) {
      return std::nullopt;  // A change of the list must not hide the mistake.
    }
  }
  std::optional<StatusOr<Counters>> counters = source_->LoadIfChanged();
  return counters ? std::optional(Complete(*std::move(counters))) : std::nullopt;
}

bool MetricList::Await(int other) {
  if (!looks_) {
    looks_.emplace(settings_.counters, config_path_, interval_);
  }
  return looks_->Await(other);
}

std::vector<std::string> MetricList::warnings() const {
  std::vector<std::string> warnings = settings_.warnings;
  if (std::string warning = source_->warning(); !warning.empty()) {
    warnings.push_back(std::move(warning));
  }
  if (settings_.interval != interval_) {
    warnings.push_back(absl::StrFormat(
        "%s: podgpu uses the changed interval of all fields after a restart. Restart it",
        config_path_));
  }
  return warnings;
}

StatusOr<Counters> MetricList::Complete(StatusOr<Counters> counters) const {
  PODGPU_RETURN_IF_ERROR(counters.status());
  Counters selected = Select(*std::move(counters), settings_.patterns);
  StatusOr<FieldCollections> collections =
      MatchCollections(settings_.config.collections, selected, settings_.config.path);
  if (collections.ok()) {
    selected.collections = *std::move(collections);
    return selected;
  }
  // While the list of the ConfigMap cannot be read, the collections for it may not fit.
  if (source_->warning().empty()) {
    return collections.status();
  }
  selected.warnings.emplace_back(collections.status().message());
  return selected;
}

MetricList::ConfigText MetricList::LookAtConfig() const {
  StatusOr<std::string> text = files_.Read(config_path_);
  return text.ok() ? ConfigText{true, *std::move(text)} : ConfigText();
}

std::string CollectionsText(const Counters& counters) {
  std::string text;
  for (const FieldCollection& collection : counters.collections) {
    std::vector<std::string> names;
    for (const uint16_t field : collection.fields) {
      std::ranges::move(NamesOf(field, counters), std::back_inserter(names));
    }
    absl::StrAppendFormat(&text, "collection %s, every %g s: %s\n", collection.name,
                          std::chrono::duration<double>(collection.interval).count(),
                          Listed(names));
  }
  return text;
}

}  // namespace podgpu
