#include "cli/config_file.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using Variables = std::map<std::string, std::string>;

ConfigFile Parsed(std::string_view text) {
  StatusOr<ConfigFile> parsed = ParseConfigFile(text, "c.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  return parsed.ok() ? *std::move(parsed) : ConfigFile();
}

Variables VariablesIn(std::string_view text) {
  Variables variables;
  for (const auto& [variable, setting] : Parsed(text).settings) {
    variables[variable] = setting.value;
  }
  return variables;
}

std::string MistakeIn(std::string_view text) {
  const StatusOr<ConfigFile> parsed = ParseConfigFile(text, "c.yaml");
  return parsed.ok() ? "accepted" : std::string(parsed.status().message());
}

TEST(ConfigFile, OfBothVersionsSetsTheVariablesOfFlags) {
  const std::string common =
      "metrics: {file: /etc/m.csv, enableExporterMetrics: true}\n"
      "server: {maxConcurrentScrapes: 4}\n";
  const Variables expected = {{"DCGM_EXPORTER_COLLECTORS", "/etc/m.csv"},
                              {"DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", "true"},
                              {"DCGM_EXPORTER_MAX_CONCURRENT_SCRAPES", "4"},
                              {"DCGM_EXPORTER_ENABLE_GPU_BIND_UNBIND_WATCH", "true"},
                              {"DCGM_EXPORTER_GPU_BIND_UNBIND_POLL_INTERVAL", "2s"},
                              {"DCGM_EXPORTER_INTERVAL", "15s"},
                              {"DCGM_EXPORTER_WATCH_MAX_KEEP_AGE", "5m"},
                              {"DCGM_EXPORTER_WATCH_MAX_KEEP_SAMPLES", "7"}};
  const std::string watch = "detectBindUnbind: {enabled: true, pollInterval: 2s}";
  EXPECT_EQ(VariablesIn("version: 1\n" + common + "sources: {dcgm: {" + watch +
                        "}}\n"
                        "collection: {interval: 15s, retention: {maxAge: 5m, maxSamples: 7}}\n"),
            expected);
  EXPECT_EQ(VariablesIn("version: 2\n" + common + "sources: {dcgm: {" + watch +
                        ", watch: {maxKeepAge: 5m, maxKeepSamples: 7}}}\n"
                        "collections: [{name: all, every: 15s, metrics: {include: ['*']}}]\n"),
            expected);
  EXPECT_EQ(VariablesIn("version: 2\n"), Variables());
  EXPECT_EQ(VariablesIn("version: 1\nmetrics:\ncollection:\n"), Variables());
  EXPECT_EQ(VariablesIn("version: 1\nmetrics: {file: , enableExporterMetrics: false}\n"
                        "collection: {interval: '', watchGroups: [null], retention: }\n"
                        "server: {maxConcurrentScrapes: }\n"),
            (Variables{{"DCGM_EXPORTER_ENABLE_EXPORTER_METRICS", "false"}}))
      << "a key without a value is as if it were not there";
}

TEST(ConfigFile, ListsMetricsWithTheLinesOfTheFile) {
  const Counters list = Parsed(
                            "version: 2\n"
                            "metrics:\n"
                            "  fields:\n"
                            "    - name: DCGM_FI_DEV_GPU_TEMP\n"
                            "      prometheusType: gauge\n"
                            "      help: |\n"
                            "        Temperature, in \"C\".\n"
                            "        Second line.\n"
                            "    - {help: x, prometheusType: counter, name: "
                            "DCGM_EXP_XID_ERRORS_TOTAL}\n")
                            .counters;
  EXPECT_EQ(list.path, "c.yaml");
  ASSERT_EQ(list.counters.size(), 2U);
  EXPECT_EQ(list.counters[0].line, 4);
  EXPECT_EQ(list.counters[0].name, "DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(list.counters[0].help, "Temperature, in \"C\". Second line.");
  EXPECT_EQ(list.counters[1].line, 9);
  EXPECT_EQ(list.counters[1].type, "counter");
}

// Two metrics on one line have the same line.
TEST(ConfigFile, RefusesAMetricThatACountersFileCannotHave) {
  EXPECT_TRUE(MistakeIn("version: 1\n"
                        "metrics: {fields: [{name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, "
                        "help: h}, {name: NONE, prometheusType: gauge, help: h}]}\n")
                  .starts_with("c.yaml:2: "));
  EXPECT_TRUE(MistakeIn("version: 1\n"
                        "metrics:\n"
                        "  fields:\n"
                        "  - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: number, help: h}\n")
                  .starts_with("c.yaml:4: "));
}

TEST(ConfigFile, HasCollectionsWithIntervalsOfTheirOwn) {
  const auto told = [](const ConfigFile& file) {
    std::string text;
    for (const WantedCollection& one : file.collections) {
      text +=
          std::to_string(one.line) + " " + one.name + " " + std::to_string(one.interval.count());
      for (const std::string& pattern : one.patterns) {
        text += " " + pattern;
      }
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(told(Parsed("version: 1\n"
                        "collection:\n"
                        "  watchGroups:\n"
                        "    - name: fast\n"
                        "      interval: 500ms\n"
                        "      fields: [DCGM_FI_DEV_GPU_UTIL, '*_POWER_*']\n"
                        "    - {name: slow, interval: 1m30s, fields: ['DCGM_FI_PROF_*']}\n")),
            "4 fast 500 DCGM_FI_DEV_GPU_UTIL *_POWER_*\n7 slow 90000 DCGM_FI_PROF_*\n");
  EXPECT_EQ(told(Parsed("version: 2\n"
                        "collections:\n"
                        "  - {name: a, every: 1s, metrics: {include: ['*', X]}}\n"
                        "  - {name: rest, every: 1s, metrics: {include: ['*']}}\n")),
            "3 a 1000 * X\n")
      << "'*' alone is the interval of all others";
}

TEST(ConfigFile, NamesKeysWithoutEffect) {
  EXPECT_EQ(Parsed("version: 2\n"
                   "collections:\n"
                   "  - name: a\n"
                   "    every: 1s\n"
                   "    metrics: {include: [X]}\n"
                   "    sources: {dcgm: {watch: {maxKeepAge: 1m}}}\n")
                .idle,
            std::vector<std::string>{
                "c.yaml:6: collections[0].sources.dcgm.watch has no effect: podgpu lets DCGM keep "
                "what it counts. Remove it"});
}

TEST(ConfigFile, RefusesMistakesInOneLine) {
  const struct {
    std::string text, message;
  } rows[] = {
      {"", "c.yaml:1: version: must be 1 or 2. Add version: 2"},
      {"metrics: {file: a}\n", "c.yaml:1: version: must be 1 or 2. Add version: 2"},
      {"version: 3\n", "c.yaml:1: version: \"3\" is neither 1 nor 2. podgpu knows these two"},
      {"version: 2\nmetric: {}\n",
       "c.yaml:2: unknown key \"metric\"; nearest is metrics. Correct or remove it"},
      {"version: 2\nversion: 2\n", "c.yaml:2: \"version\" is there twice. Remove one"},
      {"version: 1\ncollections: []\n",
       "c.yaml:2: unknown key \"collections\"; nearest is collection. Correct or remove it"},
      {"version: 2\ncollection: {interval: 1s}\n",
       "c.yaml:2: unknown key \"collection\"; nearest is collections. Correct or remove it"},
      {"version: 1\nmetrics: {file: a, fields: [{name: DCGM_FI_DEV_GPU_TEMP, prometheusType: "
       "gauge, help: h}]}\n",
       "c.yaml:2: metrics: has both file and fields. Remove one"},
      {"version: 1\nmetrics: {}\n",
       "c.yaml:2: metrics: has neither file, fields nor enableExporterMetrics. Add one, or remove "
       "metrics"},
      {"version: 1\nmetrics: {fields: [{prometheusType: gauge, help: h}]}\n",
       "c.yaml:2: metrics.fields[0]: has no name. Add it"},
      {"version: 1\nmetrics: {fields: [{name: A, prometheusType: gauge}]}\n",
       "c.yaml:2: metrics.fields[0]: has no help. Add it"},
      {"version: 1\nmetrics:\n  fields:\n  - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, "
       "help: h}\n"
       "  - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, help: h}\n",
       "c.yaml:5: metrics.fields[1].name: \"DCGM_FI_DEV_GPU_TEMP\" is there twice. Remove one"},
      {"version: 1\ncollection: {interval: soon}\n",
       "c.yaml:2: collection.interval: \"soon\" is no duration with a unit, of whole "
       "milliseconds above 0. Write 30s or 500ms, for example"},
      {"version: 1\ncollection: {interval: 500us}\n",
       "c.yaml:2: collection.interval: \"500us\" is no duration with a unit, of whole "
       "milliseconds above 0. Write 30s or 500ms, for example"},
      {"version: 2\ncollections: []\n",
       "c.yaml:2: collections: has no collection. Add one, or remove collections"},
      {"version: 2\ncollections: [{name: a, every: 1s}]\n",
       "c.yaml:2: collections[0]: has no metrics.include. Add it"},
      {"version: 2\ncollections: [{every: 1s, metrics: {include: [X]}}]\n",
       "c.yaml:2: collections[0]: has no name. Add it"},
      {"version: 2\ncollections: [{name: a, metrics: {include: [X]}}]\n",
       "c.yaml:2: collections[0]: has no every. Add it"},
      {"version: 2\ncollections:\n- {name: a, every: 1s, metrics: {include: [X]}}\n"
       "- {name: a, every: 1s, metrics: {include: [Y]}}\n",
       "c.yaml:4: collections[1].name: \"a\" is there twice. Give it another name"},
      {"version: 2\ncollections:\n- {name: a, every: 1s, metrics: {include: ['*']}}\n"
       "- {name: b, every: 1s, metrics: {include: ['*']}}\n",
       "c.yaml:4: collections[1].metrics.include: is a second collection of all fields. Remove "
       "one"},
      {"version: 2\ncollections:\n- {name: a, every: 1s, metrics: {include: ['*']}}\n"
       "- {name: a, every: 1s, metrics: {include: [Y]}}\n",
       "c.yaml:4: collections[1].name: \"a\" is there twice. Give it another name"},
      {"version: 2\ncollections: [{name: \"a\\nb\", every: 1s, metrics: {include: [Y]}}]\n",
       "c.yaml:2: collections[0].name: has more than one line. Write a name of one line"},
      {"version: 2\ncollections: [null]\n",
       "c.yaml:2: collections: has no collection. Add one, or remove collections"},
      {"version: 2\nserver:\n  unknown:\n",
       "c.yaml:3: server: unknown key \"unknown\". Correct or remove it"},
      {"version: 2\ncollections: [{name: a, every: 1s, metrics: {include: ['']}}]\n",
       "c.yaml:2: collections[0].metrics.include: has an empty pattern. Remove it"},
      {"version: 2\nserver: {maxConcurrentScrapes: 0}\n",
       "c.yaml:2: server.maxConcurrentScrapes: \"0\" is no whole number from 1 on. Write 16, for "
       "example"},
      {"version: 2\nsources: {dcgm: {watch: {maxKeepSamples: -1}}}\n",
       "c.yaml:2: sources.dcgm.watch.maxKeepSamples: \"-1\" is no whole number from 0 on. Write 0, "
       "for example"},
      {"version: 2\nsources: {dcgm: {watch: {maxKeepAge: -1s}}}\n",
       "c.yaml:2: sources.dcgm.watch.maxKeepAge: \"-1s\" is no duration from 0 on. Write 10m, for "
       "example"},
      {"version: 2\nmetrics: {fields: []}\n",
       "c.yaml:2: metrics.fields: has no metric. Add one, or remove fields"},
      {"version: 1\ncollection: {watchGroups: [{name: a, interval: 50ms, fields: [X]}]}\n",
       "c.yaml:2: collection.watchGroups[0].interval: \"50ms\" is refused: must be from 100ms to "
       "24h. Correct it"},
      {"version: 2\nmetrics: [a]\n",
       "c.yaml:2: metrics: must hold keys with values. Write KEY: VALUE"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(MistakeIn(row.text), row.message) << row.text;
  }
  EXPECT_NE(MistakeIn("version: 2\n---\nversion: 2\n").find("c.yaml:"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
