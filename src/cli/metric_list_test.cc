#include "cli/metric_list.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/testing/temporary_folder.h"
#include "cli/config_flags.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr char kTemperature[] = "DCGM_FI_DEV_GPU_TEMP, gauge, t\n";
constexpr char kTwoMetrics[] =
    "DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_POWER_USAGE, gauge, p\n";
constexpr char kSlowPower[] =
    "version: 1\n"
    "collection: {watchGroups: [{name: slow, interval: 1m, fields: ['*POWER*']}]}\n";
constexpr char kSlowTemperature[] =
    "version: 1\n"
    "collection: {watchGroups: [{name: slow, interval: 5m, fields: ['*TEMP']}]}\n";

// The list of a node with the files l.csv and c.yaml.
class MetricListTest : public ::testing::Test {
 protected:
  void Start(const std::string& list, const std::string& config) {
    const std::vector<std::string> arguments = {"-f", folder_.Write("l.csv", list),
                                                "--config-file=" + folder_.Write("c.yaml", config)};
    const CommandReader read = [this, arguments] {
      return ReadNodeCommand(
          arguments, [](const std::string&) { return std::nullopt; }, files_);
    };
    list_ = std::make_unique<MetricList>(*read(), read, files_, clock_);
  }
  // Returns names of metrics and collections, or the refusal; "unchanged" for nothing.
  std::string Told(const std::optional<StatusOr<Counters>>& counters) const {
    if (!counters) {
      return "unchanged";
    }
    if (!counters->ok()) {
      std::string message(counters->status().message());
      for (size_t at = 0; (at = message.find(folder_.path() + "/")) != std::string::npos;) {
        message.erase(at, folder_.path().size() + 1);
      }
      return message;
    }
    std::string told = std::to_string((*counters)->counters.size()) + " metrics";
    for (const FieldCollection& one : (*counters)->collections) {
      told += ", " + one.name + " " + std::to_string(one.interval.count()) + " ms:";
      for (const uint16_t field : one.fields) {
        told += " " + std::to_string(field);
      }
    }
    return told;
  }
  // Looks as often as after a change.
  std::string AfterLooks() {
    const std::string first = Told(list_->LoadIfChanged());
    return first == "unchanged" ? Told(list_->LoadIfChanged()) : "at the first look: " + first;
  }

  const TemporaryFolder folder_;
  const SystemFiles files_;
  ManualClock clock_;
  std::unique_ptr<MetricList> list_;
};

TEST_F(MetricListTest, FollowsTheConfigurationAndTheList) {
  Start(kTwoMetrics, kSlowPower);
  EXPECT_EQ(Told(list_->Load()), "2 metrics, slow 60000 ms: 155");
  EXPECT_EQ(AfterLooks(), "unchanged");
  folder_.Write("c.yaml", kSlowTemperature);
  EXPECT_EQ(AfterLooks(), "2 metrics, slow 300000 ms: 150");
  EXPECT_EQ(AfterLooks(), "unchanged");
  folder_.Write("l.csv", kTemperature);
  EXPECT_EQ(AfterLooks(), "1 metrics, slow 300000 ms: 150");
  folder_.Write("c.yaml", std::string(kSlowTemperature).substr(0, 30));  // Half written.
  EXPECT_EQ(Told(list_->LoadIfChanged()), "unchanged");
  folder_.Write("c.yaml", "version: 1\n");
  EXPECT_EQ(AfterLooks(), "1 metrics");
  folder_.Write("c.yaml", kSlowTemperature);
  EXPECT_EQ(Told(list_->LoadAgain()), "1 metrics, slow 300000 ms: 150") << "SIGHUP";
  EXPECT_EQ(AfterLooks(), "unchanged");
}

TEST_F(MetricListTest, TakesAnotherListFromTheConfiguration) {
  const std::string csv = folder_.Write("m.csv", kTwoMetrics);
  const std::string config = folder_.Write("c.yaml", "version: 2\n");
  const CommandReader read = [&] {
    return ReadNodeCommand(
        std::vector<std::string>{"--config-file=" + config},
        [](const std::string&) { return std::nullopt; }, files_);
  };
  folder_.Write("c.yaml",
                "version: 2\nmetrics: {fields: [{name: DCGM_FI_DEV_GPU_TEMP, "
                "prometheusType: gauge, help: t}]}\n");
  list_ = std::make_unique<MetricList>(*read(), read, files_, clock_);
  EXPECT_EQ(Told(list_->Load()), "1 metrics");
  folder_.Write("c.yaml", "version: 2\nmetrics: {file: " + csv + "}\n");
  EXPECT_EQ(AfterLooks(), "2 metrics");
  folder_.Write("c.yaml",
                "version: 2\nmetrics: {fields: [{name: NONE, prometheusType: gauge, help: t}]}\n");
  EXPECT_NE(AfterLooks().find("c.yaml:2: "), std::string::npos);
}

TEST_F(MetricListTest, TellsAMistakeOnceAndWaitsForItsCorrection) {
  Start(kTwoMetrics, kSlowPower);
  EXPECT_EQ(Told(list_->Load()), "2 metrics, slow 60000 ms: 155");
  folder_.Write("c.yaml", "version: 4\n");
  EXPECT_EQ(AfterLooks(), "c.yaml:1: version: \"4\" is neither 1 nor 2. podgpu knows these two");
  folder_.Write("l.csv", kTemperature);
  EXPECT_EQ(AfterLooks(), "unchanged") << "a good list must not hide the mistake";
  folder_.Write("c.yaml", kSlowPower);
  EXPECT_EQ(AfterLooks(),
            "c.yaml:2: collection \"slow\" matches no metric of l.csv. Correct its patterns, or "
            "remove it");
  folder_.Write("l.csv", kTwoMetrics);
  EXPECT_EQ(AfterLooks(), "2 metrics, slow 60000 ms: 155");
  std::filesystem::remove(folder_ / "c.yaml");
  EXPECT_TRUE(AfterLooks().starts_with("--config-file: ")) << "after two looks";
}

TEST_F(MetricListTest, SaysThatTheIntervalOfAllFieldsNeedsARestart) {
  Start(kTwoMetrics, "version: 1\ncollection: {interval: 10s}\n");
  list_->Load().IgnoreError();
  EXPECT_EQ(list_->warnings().size(), 0U);
  folder_.Write("c.yaml", "version: 1\ncollection: {interval: 20s}\n");
  EXPECT_EQ(AfterLooks(), "2 metrics");
  ASSERT_EQ(list_->warnings().size(), 1U);
  EXPECT_NE(list_->warnings().front().find("after a restart. Restart it"), std::string::npos);
  folder_.Write("c.yaml", "version: 1\ncollection: {interval: 10s}\n");
  EXPECT_EQ(AfterLooks(), "2 metrics");
  EXPECT_EQ(list_->warnings().size(), 0U);
}

// A configuration that changes while the API server does not answer.
TEST_F(MetricListTest, KeepsTheListOfTheConfigMapWhenTheConfigurationChanges) {
  FakeApiServer server;
  const std::string object =
      R"({"metadata":{"namespace":"gpu","name":"metrics","resourceVersion":"101"},)"
      R"("data":{"metrics":"DCGM_FI_DEV_POWER_USAGE, gauge, p\n"}})";
  server.Serve("/api/v1/namespaces/gpu/configmaps/metrics", object);
  server.Put("/api/v1/namespaces/gpu/configmaps", "gpu/metrics",
             R"("namespace":"gpu","name":"metrics")",
             R"(,"data":{"metrics":"DCGM_FI_DEV_POWER_USAGE, gauge, p\n"}})");
  const std::vector<std::string> arguments = {
      "-f", folder_.Write("l.csv", kTwoMetrics), "-m", "gpu:metrics",
      "--config-file=" + folder_.Write("c.yaml", kSlowPower)};
  std::chrono::milliseconds patience = std::chrono::minutes(10);
  const CommandReader read = [&] {
    StatusOr<NodeCommand> command = ReadNodeCommand(
        arguments, [](const std::string&) { return std::nullopt; }, files_);
    command->counters.server = server.Options();
    command->counters.server->node.clear();
    command->counters.patience = patience;
    return command;
  };
  SystemClock clock;
  MetricList list(*read(), read, files_, clock);
  EXPECT_EQ(Told(list.Load()), "1 metrics, slow 60000 ms: 155");
  patience = std::chrono::milliseconds(0);  // A new request would be too late.
  folder_.Write("c.yaml", "version: 1\n");
  EXPECT_EQ(Told(list.LoadAgain()), "1 metrics");
  EXPECT_EQ(list.warnings().size(), 0U);
}

TEST(CollectionsText, NamesTheMetricsOfEachCollection) {
  Counters list =
      ParseCounters(std::string(kTwoMetrics) + "DCGM_EXP_XID_ERRORS_COUNT, gauge, x\n", "l")
          .value();
  EXPECT_EQ(CollectionsText(list), "");
  list.collections = {{"slow", seconds(600), {155, 230}},
                      {"fast", std::chrono::milliseconds(500), {150}}};
  EXPECT_EQ(CollectionsText(list),
            "collection slow, every 600 s: DCGM_FI_DEV_POWER_USAGE, DCGM_FI_DEV_XID_ERRORS\n"
            "collection fast, every 0.5 s: DCGM_FI_DEV_GPU_TEMP\n");
}

// A collection for the list of a ConfigMap may not fit the list that is used until it can be read.
TEST_F(MetricListTest, ACollectionWithoutMetricsIsAWarningWhileTheConfigMapIsNotRead) {
  const std::vector<std::string> arguments = {
      "-f", folder_.Write("l.csv", kTemperature), "-m", "ns:metrics",
      "--config-file=" + folder_.Write("c.yaml", kSlowPower)};
  const StatusOr<NodeCommand> command = ReadNodeCommand(
      arguments, [](const std::string&) { return std::nullopt; }, files_);
  list_ = std::make_unique<MetricList>(*command, nullptr, files_, clock_);
  const StatusOr<Counters> counters = list_->Load();
  ASSERT_TRUE(counters.ok()) << counters.status();
  EXPECT_EQ(counters->warnings.size(), 1U);
  EXPECT_EQ(list_->warnings().size(), 1U) << "no API server is known";
}

}  // namespace
}  // namespace podgpu
