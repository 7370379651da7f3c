#include "cli/config_file.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "yaml/yaml_reading.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The file while it is read.
struct Draft {
  ConfigFile file;
  bool has_metrics_file = false;
  bool has_metrics_fields = false;
  bool has_exporter_metrics = false;
  bool has_all_fields = false;  // A collection of all fields was read.
  std::vector<std::string> collection_names;
  Status list_status;  // The first mistake in a metric.
  std::vector<std::string> metric_names;
};
using Key = YamlKey<Draft>;

void Set(Draft& draft, const char* variable, const YamlEntry& entry, std::string value) {
  draft.file.settings[variable] = {std::move(value), entry.value.line, entry.key};
}

// -- values

void SetBool(Draft& draft, const char* variable, const YamlEntry& entry) {
  Set(draft, variable, entry, entry.Bool() ? "true" : "false");
}

std::string WholeNumber(const YamlEntry& entry, int64_t least, int64_t example) {
  std::string text = entry.Text();
  const std::optional<int64_t> number = ParseGoInt(text);
  if (!number || *number < least || *number > std::numeric_limits<int32_t>::max()) {
    entry.Refuse(absl::StrFormat("%s is no whole number from %d on. Write %d, for example",
                                 Quoted(text), least, example));
  }
  return text;
}

std::string Age(const YamlEntry& entry) {
  std::string text(Trim(entry.Text()));
  const std::optional<nanoseconds> age = ParseGoDuration(text);
  if (!age || *age < nanoseconds(0)) {
    entry.Refuse(
        absl::StrFormat("%s is no duration from 0 on. Write 10m, for example", Quoted(text)));
  }
  return text;
}

milliseconds Interval(const YamlEntry& entry) {
  const std::string text(Trim(entry.Text()));
  const std::optional<nanoseconds> wanted = ParseGoDuration(text);
  const auto whole = std::chrono::duration_cast<milliseconds>(wanted.value_or(nanoseconds(0)));
  if (!wanted || *wanted <= nanoseconds(0) || whole != *wanted) {
    entry.Refuse(absl::StrFormat(
        "%s is no duration with a unit, of whole milliseconds above 0. Write 30s or "
        "500ms, for example",
        Quoted(text)));
  }
  return whole;
}

// Checks the value; the flag of the variable reads its text.
void SetInterval(Draft& draft, const char* variable, const YamlEntry& entry) {
  Interval(entry);
  Set(draft, variable, entry, std::string(Trim(entry.Text())));
}

// -- metrics

std::string InQuotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c == '\n' || c == '\r' ? ' ' : c);
  }
  return quoted + "\"";
}

// The items of a list, each with its number in the key.
std::vector<YamlEntry> Numbered(const YamlEntry& list) {
  std::vector<YamlEntry> items = list.List();
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].key += absl::StrFormat("[%d]", i);
  }
  return items;
}

struct MetricField {
  int line = 0;
  std::optional<std::string> name, type, help;
};
constexpr YamlKey<MetricField> kFieldKeys[] = {
    {"name",
     [](const YamlEntry& entry, MetricField& field) {
       field.line = entry.value.line;
       field.name = Trim(entry.Text());
     }},
    {"prometheusType",
     [](const YamlEntry& entry, MetricField& field) { field.type = Trim(entry.Text()); }},
    {"help", [](const YamlEntry& entry, MetricField& field) { field.help = Trim(entry.Text()); }},
};

void RequireText(const YamlEntry& item, std::string_view key,
                 const std::optional<std::string>& value) {
  if (!value || value->empty()) {
    item.Refuse(absl::StrFormat("has no %s. Add it", key));
  }
}

// Reads the field like its line in a counters file, at the same line, so that messages name it.
void TakeMetric(const MetricField& field, Draft& draft) {
  if (!field.name || !draft.list_status.ok()) {
    return;  // A field without a name is refused, and has no line.
  }
  const std::string line =
      absl::StrFormat("%s%s,%s,%s\n", std::string(static_cast<size_t>(field.line - 1), '\n'),
                      InQuotes(field.name.value_or("")), InQuotes(field.type.value_or("")),
                      InQuotes(field.help.value_or("")));
  StatusOr<Counters> parsed = ParseCounters(line, draft.file.path);
  if (!parsed.ok()) {
    draft.list_status.Update(parsed.status());
    return;
  }
  std::ranges::move(parsed->counters, std::back_inserter(draft.file.counters.counters));
  std::ranges::move(parsed->warnings, std::back_inserter(draft.file.counters.warnings));
}

void ReadFields(const YamlEntry& entry, Draft& draft) {
  draft.has_metrics_fields = true;
  const std::vector<YamlEntry> items = Numbered(entry);
  if (items.empty() && entry.value.kind == YamlNode::Kind::kList) {
    entry.Refuse("has no metric. Add one, or remove fields");
  }
  for (const YamlEntry& item : items) {
    MetricField field;
    ReadYamlKeys<MetricField>(item, kFieldKeys, field);
    RequireText(item, "name", field.name);
    RequireText(item, "prometheusType", field.type);
    RequireText(item, "help", field.help);
    const std::string name = field.name.value_or("");
    if (std::ranges::count(draft.metric_names, name) > 0) {
      item.reading.Refuse(field.line, item.key + ".name",
                          absl::StrFormat("%s is there twice. Remove one", Quoted(name)));
    }
    draft.metric_names.push_back(name);
    TakeMetric(field, draft);
  }
}

constexpr Key kMetricsKeys[] = {
    {"file",
     [](const YamlEntry& entry, Draft& draft) {
       draft.has_metrics_file = true;
       Set(draft, "DCGM_EXPORTER_COLLECTORS", entry, std::string(Trim(entry.Text())));
     }},
    {"fields", ReadFields},
    {"enableExporterMetrics",
     [](const YamlEntry& entry, Draft& draft) {
       draft.has_exporter_metrics = true;
       SetBool(draft, "DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", entry);
     }},
};

void ReadMetrics(const YamlEntry& entry, Draft& draft) {
  ReadYamlKeys<Draft>(entry, kMetricsKeys, draft);
  if (draft.has_metrics_file && draft.has_metrics_fields) {
    entry.Refuse("has both file and fields. Remove one");
  } else if (entry.value.kind == YamlNode::Kind::kMap && !draft.has_metrics_file &&
             !draft.has_metrics_fields && !draft.has_exporter_metrics) {
    entry.Refuse("has neither file, fields nor enableExporterMetrics. Add one, or remove metrics");
  }
}

// -- sources and server

constexpr Key kBindKeys[] = {
    {"enabled",
     [](const YamlEntry& entry, Draft& draft) {
       SetBool(draft, "DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH", entry);
     }},
    {"pollInterval",
     [](const YamlEntry& entry, Draft& draft) {
       SetInterval(draft, "DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL", entry);
     }},
};
constexpr Key kServerKeys[] = {
    {"maxConcurrentScrapes",
     [](const YamlEntry& entry, Draft& draft) {
       Set(draft, "DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES", entry, WholeNumber(entry, 1, 16));
     }},
};

void SetKeepAge(const YamlEntry& entry, Draft& draft) {
  Set(draft, "DCGM_EXPORTER_WATCH_MAX_KEEP_AGE", entry, Age(entry));
}
void SetKeepSamples(const YamlEntry& entry, Draft& draft) {
  Set(draft, "DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES", entry, WholeNumber(entry, 0, 0));
}
constexpr Key kRetentionKeys[] = {{"maxAge", SetKeepAge}, {"maxSamples", SetKeepSamples}};
constexpr Key kWatchKeys[] = {{"maxKeepAge", SetKeepAge}, {"maxKeepSamples", SetKeepSamples}};

void ReadBind(const YamlEntry& entry, Draft& draft) {
  ReadYamlKeys<Draft>(entry, kBindKeys, draft);
}
constexpr Key kDcgmKeys1[] = {{"detectBindUnbind", ReadBind}};
constexpr Key kDcgmKeys2[] = {{"detectBindUnbind", ReadBind},
                              {"watch", [](const YamlEntry& entry, Draft& draft) {
                                 ReadYamlKeys<Draft>(entry, kWatchKeys, draft);
                               }}};
constexpr Key kSourcesKeys1[] = {{"dcgm", [](const YamlEntry& entry, Draft& draft) {
                                    ReadYamlKeys<Draft>(entry, kDcgmKeys1, draft);
                                  }}};
constexpr Key kSourcesKeys2[] = {{"dcgm", [](const YamlEntry& entry, Draft& draft) {
                                    ReadYamlKeys<Draft>(entry, kDcgmKeys2, draft);
                                  }}};

// -- collections

// A collection while it is read; both versions have the same parts under other names.
struct CollectionDraft {
  Draft& draft;
  WantedCollection made;
  std::optional<YamlEntry> interval;
};
using CollectionKey = YamlKey<CollectionDraft>;

void ReadName(const YamlEntry& entry, CollectionDraft& one) {
  one.made.line = entry.value.line;
  one.made.name = Trim(entry.Text());
  if (std::ranges::any_of(one.made.name, [](char c) { return c >= 0 && c < ' '; })) {
    entry.Refuse("has more than one line. Write a name of one line");
  }
}
void ReadInterval(const YamlEntry& entry, CollectionDraft& one) {
  constexpr milliseconds kShortest{100};
  constexpr std::chrono::hours kLongest{24};
  one.interval.emplace(entry);
  one.made.interval = Interval(entry);
  if (entry.reading.status().ok() &&
      (one.made.interval < kShortest || one.made.interval > kLongest)) {
    entry.Refuse(absl::StrFormat("%s is refused: must be from 100ms to 24h. Correct it",
                                 Quoted(Trim(entry.Text()))));
  }
}
void ReadPatterns(const YamlEntry& entry, CollectionDraft& one) {
  for (const YamlEntry& item : entry.List()) {
    one.made.patterns.emplace_back(Trim(item.Text()));
    if (one.made.patterns.back().empty()) {
      item.Refuse("has an empty pattern. Remove it");
    }
  }
}

// Its values are checked, and then not used.
template <const auto& keys>
void ReadIdle(const YamlEntry& entry, CollectionDraft& one) {
  Draft checked;
  ReadYamlKeys<Draft>(entry, keys, checked);
  one.draft.file.idle.push_back(
      absl::StrFormat("%s:%d: %s has no effect: podgpu lets DCGM keep what it counts. Remove it",
                      one.draft.file.path, entry.value.line, entry.key));
}

constexpr CollectionKey kGroupKeys[] = {{"name", ReadName},
                                        {"interval", ReadInterval},
                                        {"fields", ReadPatterns},
                                        {"retention", ReadIdle<kRetentionKeys>}};

constexpr CollectionKey kIncludeKeys[] = {{"include", ReadPatterns}};
constexpr CollectionKey kOwnDcgmKeys[] = {{"watch", ReadIdle<kWatchKeys>}};
constexpr CollectionKey kOwnSourcesKeys[] = {
    {"dcgm", [](const YamlEntry& entry, CollectionDraft& one) {
       ReadYamlKeys<CollectionDraft>(entry, kOwnDcgmKeys, one);
     }}};
constexpr CollectionKey kCollectionKeys[] = {
    {"name", ReadName},
    {"every", ReadInterval},
    {"metrics",
     [](const YamlEntry& entry, CollectionDraft& one) {
       ReadYamlKeys<CollectionDraft>(entry, kIncludeKeys, one);
     }},
    {"sources", [](const YamlEntry& entry, CollectionDraft& one) {
       ReadYamlKeys<CollectionDraft>(entry, kOwnSourcesKeys, one);
     }}};

// The words of a version.
struct CollectionWords {
  std::span<const CollectionKey> keys;
  std::string_view interval, patterns;
};
constexpr CollectionWords kGroupWords = {kGroupKeys, "interval", "fields"};
constexpr CollectionWords kCollectionWords = {kCollectionKeys, "every", "metrics.include"};

CollectionDraft ReadCollection(const YamlEntry& item, const CollectionWords& words, Draft& draft) {
  CollectionDraft one{draft, {}, std::nullopt};
  ReadYamlKeys<CollectionDraft>(item, words.keys, one);
  const auto require = [&](bool has, std::string_view key) {
    if (!has) {
      item.Refuse(absl::StrFormat("has no %s. Add it", key));
    }
  };
  require(!one.made.name.empty(), "name");
  require(one.interval.has_value(), words.interval);
  require(!one.made.patterns.empty(), words.patterns);
  if (std::ranges::count(draft.collection_names, one.made.name) > 0) {
    item.reading.Refuse(
        one.made.line, item.key + ".name",
        absl::StrFormat("%s is there twice. Give it another name", Quoted(one.made.name)));
  }
  draft.collection_names.push_back(one.made.name);
  return one;
}

void ReadGroups(const YamlEntry& entry, Draft& draft) {
  for (const YamlEntry& item : Numbered(entry)) {
    draft.file.collections.push_back(ReadCollection(item, kGroupWords, draft).made);
  }
}

// A collection of "*" alone is that of all fields that no other has: its interval is that of the
// whole exporter.
void ReadCollections(const YamlEntry& entry, Draft& draft) {
  const std::vector<YamlEntry> items = Numbered(entry);
  if (items.empty() && entry.value.kind == YamlNode::Kind::kList) {
    entry.Refuse("has no collection. Add one, or remove collections");
  }
  for (const YamlEntry& item : items) {
    CollectionDraft one = ReadCollection(item, kCollectionWords, draft);
    if (one.made.patterns != std::vector<std::string>{"*"}) {
      draft.file.collections.push_back(std::move(one.made));
      continue;
    }
    if (draft.has_all_fields) {
      item.reading.Refuse(item.value.line, item.key + ".metrics.include",
                          "is a second collection of all fields. Remove one");
    }
    draft.has_all_fields = true;
    if (one.interval) {
      SetInterval(draft, "DCGM_EXPORTER_INTERVAL", *one.interval);
    }
  }
}

constexpr Key kCollectionKeys1[] = {{"interval",
                                     [](const YamlEntry& entry, Draft& draft) {
                                       if (!Trim(entry.Text()).empty()) {
                                         SetInterval(draft, "DCGM_EXPORTER_INTERVAL", entry);
                                       }
                                     }},
                                    {"watchGroups", ReadGroups},
                                    {"retention", [](const YamlEntry& entry, Draft& draft) {
                                       ReadYamlKeys<Draft>(entry, kRetentionKeys, draft);
                                     }}};

// -- the whole file

void TakeVersion(const YamlEntry& /*entry*/, Draft& /*draft*/) {}  // VersionOf has read it.
void ReadServer(const YamlEntry& entry, Draft& draft) {
  ReadYamlKeys<Draft>(entry, kServerKeys, draft);
}
constexpr Key kTopKeys1[] = {
    {"version", TakeVersion},
    {"metrics", ReadMetrics},
    {"collection", [](const YamlEntry& entry,
                      Draft& draft) { ReadYamlKeys<Draft>(entry, kCollectionKeys1, draft); }},
    {"sources", [](const YamlEntry& entry,
                   Draft& draft) { ReadYamlKeys<Draft>(entry, kSourcesKeys1, draft); }},
    {"server", ReadServer}};
constexpr Key kTopKeys2[] = {
    {"version", TakeVersion},
    {"metrics", ReadMetrics},
    {"collections", ReadCollections},
    {"sources", [](const YamlEntry& entry,
                   Draft& draft) { ReadYamlKeys<Draft>(entry, kSourcesKeys2, draft); }},
    {"server", ReadServer}};

// The keys depend on the version, so it is looked up first.
std::string VersionOf(const YamlEntry& top) {
  const YamlNode& map = top.value;
  for (size_t i = 0; map.kind == YamlNode::Kind::kMap && i < map.keys.size(); ++i) {
    const YamlNode& value = map.items[i];
    if (map.keys[i].text != "version" || value.kind == YamlNode::Kind::kNull) {
      continue;
    }
    if (value.text != "1" && value.text != "2") {
      top.reading.Refuse(
          value.line, "version",
          absl::StrFormat("%s is neither 1 nor 2. podgpu knows these two", Quoted(value.text)));
    }
    return value.text;
  }
  top.reading.Refuse(1, "version", "must be 1 or 2. Add version: 2");
  return "";
}

}  // namespace

StatusOr<ConfigFile> ParseConfigFile(std::string_view text, const std::string& path) {
  YamlReading reading(path, true);
  const YamlNode tree = reading.Parse(text);
  const YamlEntry top{reading, tree, ""};
  Draft draft;
  draft.file.path = path;
  draft.file.text = text;
  if (VersionOf(top) == "1") {
    ReadYamlKeys<Draft>(top, kTopKeys1, draft);
  } else {
    ReadYamlKeys<Draft>(top, kTopKeys2, draft);
  }
  PODGPU_RETURN_IF_ERROR(reading.status());
  PODGPU_RETURN_IF_ERROR(draft.list_status);
  draft.file.counters.path = path;
  return std::move(draft.file);
}

}  // namespace podgpu
