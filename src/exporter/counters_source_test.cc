#include "exporter/counters_source.h"

#include <fstream>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/gpu/configmaps";
constexpr const char* kMapMetadata = R"("namespace":"gpu","name":"metrics")";
constexpr const char* kFileLine = "DCGM_FI_DEV_POWER_USAGE, gauge, power\n";

std::string Data(const std::string& metrics_json) {
  return R"(,"data":{"other":"x","metrics":")" + metrics_json + "\"}";
}

// The real clock, except that the pauses between requests can take no time.
class PauselessClock final : public Clock {
 public:
  Instant Now() const override { return real_.Now(); }
  WallTime WallNow() const override { return real_.WallNow(); }
  bool is_pauseless = false;

 private:
  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) override {
    if (wakeup != nullptr) {
      return wakeup->SleepUntil(real_, deadline, stop);
    }
    return is_pauseless ? !stop.stop_requested() : real_.WaitUntil(deadline, stop);
  }
  SystemClock real_;
};

// A source over a real connection; its file lists power, and the test sets its ConfigMap.
class CountersSourceTest : public ::testing::Test {
 protected:
  CountersSourceTest() {
    options_.path = server_.folder().Write("counters.csv", kFileLine);
    options_.config_map = ConfigMapName{"gpu", "metrics"};
    options_.server = server_.Options();
    options_.server->node.clear();  // NODE_NAME is not needed.
    options_.patience = std::chrono::minutes(10);
  }
  ~CountersSourceTest() override { source_.reset(); }

  // The object by its name; watches see the collection.
  void PutMap(const std::string& rest) {
    server_.Put(kMaps, "gpu/metrics", kMapMetadata, rest);
    server_.Serve(std::string(kMaps) + "/metrics", std::string("{\"metadata\":{") + kMapMetadata +
                                                       R"(,"resourceVersion":"101"})" + rest + "}");
  }
  StatusOr<Counters> Load() {
    source_.emplace(options_, files_, clock_);
    return source_->Load();
  }
  // Waits for the next change and returns its result.
  StatusOr<Counters> Next() {
    while (true) {
      if (auto outcome = source_->LoadIfChanged()) {
        return *std::move(outcome);
      }
      std::this_thread::yield();
    }
  }
  static std::string Names(const StatusOr<Counters>& counters) {
    std::string names =
        counters.ok() ? counters->path + ":" : std::string(counters.status().message());
    for (size_t i = 0; counters.ok() && i < counters->counters.size(); ++i) {
      names += " " + counters->counters[i].name;
    }
    return names;
  }

  FakeApiServer server_;
  SystemFiles files_;
  PauselessClock clock_;
  CountersSourceOptions options_;
  std::optional<CountersSource> source_;
};

TEST_F(CountersSourceTest, UsesTheFileWithoutAConfigMap) {
  options_.config_map.reset();
  EXPECT_EQ(Names(Load()), options_.path + ": DCGM_FI_DEV_POWER_USAGE");
  EXPECT_EQ(source_->warning(), "");
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(CountersSourceTest, UsesTheKeyMetricsOfTheConfigMap) {
  PutMap(Data(R"(# ours\nDCGM_FI_DEV_GPU_TEMP, gauge, temperature\n)"));
  EXPECT_EQ(Names(Load()), "ConfigMap gpu/metrics: DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(source_->warning(), "");
  EXPECT_EQ(server_.requests().front(), "GET " + std::string(kMaps) + "/metrics");
}

TEST_F(CountersSourceTest, WatchesTheConfigMapByNameAndTakesChanges) {
  PutMap(Data(R"(DCGM_FI_DEV_GPU_TEMP, gauge, t\n)"));
  ASSERT_TRUE(Load().ok());
  server_.AwaitWatches(1);
  EXPECT_NE(
      server_.requests().back().find("configmaps?watch=1&fieldSelector=metadata.name%3Dmetrics&"),
      std::string::npos);
  PutMap(Data(R"(DCGM_FI_DEV_FB_USED, gauge, u\n)"));
  EXPECT_EQ(Names(Next()), "ConfigMap gpu/metrics: DCGM_FI_DEV_FB_USED");
  EXPECT_FALSE(source_->LoadIfChanged().has_value());
  EXPECT_EQ(server_.requests().size(), 2U) << "one request, one watch";
}

TEST_F(CountersSourceTest, ReportsABadListOnceAndTakesTheNextGoodOne) {
  PutMap(Data(R"(DCGM_FI_DEV_GPU_TEMP, gauge, t\n)"));
  ASSERT_TRUE(Load().ok());
  server_.AwaitWatches(1);
  PutMap(Data(R"(DCGM_FI_DEV_GPU_TEMP, gauge\n)"));
  const StatusOr<Counters> bad = Next();
  EXPECT_TRUE(Names(bad).starts_with("ConfigMap gpu/metrics:1: ")) << Names(bad);
  EXPECT_FALSE(source_->LoadIfChanged().has_value());
  PutMap(Data(R"(DCGM_FI_DEV_FB_USED, gauge, u\n)"));
  EXPECT_EQ(Names(Next()), "ConfigMap gpu/metrics: DCGM_FI_DEV_FB_USED");
}

TEST_F(CountersSourceTest, RefusesAConfigMapWithoutAListAtTheStart) {
  PutMap(R"(,"data":{"other":"x"})");
  EXPECT_EQ(Names(Load()),
            "ConfigMap gpu/metrics has no key \"metrics\". Put the counters file under it");
  PutMap(Data(""));
  EXPECT_EQ(Names(Load()),
            "ConfigMap gpu/metrics lists no metric under the key \"metrics\". Add a line");
  PutMap(Data(R"(DCGM_FI_DEV_NO_SUCH, gauge, n\n)"));
  EXPECT_FALSE(Load().ok());
}

TEST_F(CountersSourceTest, UsesTheFileUntilItCanReadTheConfigMap) {
  EXPECT_EQ(Names(Load()), options_.path + ": DCGM_FI_DEV_POWER_USAGE");
  EXPECT_NE(source_->warning().find("cannot read ConfigMap gpu/metrics"), std::string::npos);
  EXPECT_NE(source_->warning().find("404"), std::string::npos) << source_->warning();
  std::ofstream(options_.path) << "DCGM_FI_DEV_SM_CLOCK, gauge, c\n";
  EXPECT_EQ(Names(Next()), options_.path + ": DCGM_FI_DEV_SM_CLOCK")
      << "changes of the file are taken";
}

TEST_F(CountersSourceTest, UsesTheFileWithoutAnApiServerAndNamesTheReason) {
  options_.server = FindClusterServer([](const std::string&) { return std::nullopt; });
  EXPECT_EQ(Names(Load()), options_.path + ": DCGM_FI_DEV_POWER_USAGE");
  EXPECT_NE(source_->warning().find("KUBERNETES_SERVICE_HOST is not set"), std::string::npos);
}

TEST_F(CountersSourceTest, RetriesAfterAFailureOfTheServer) {
  PutMap(Data(R"(DCGM_FI_DEV_GPU_TEMP, gauge, t\n)"));
  server_.Refuse(1'000'000, 503);
  clock_.is_pauseless = true;
  EXPECT_EQ(Names(Load()), options_.path + ": DCGM_FI_DEV_POWER_USAGE");
  server_.Refuse(0, 503);
  EXPECT_EQ(Names(Next()), "ConfigMap gpu/metrics: DCGM_FI_DEV_GPU_TEMP");
  EXPECT_EQ(source_->warning(), "");
}

// dcgm-exporter's chart grants the right to get the ConfigMap, but not to watch it.
TEST_F(CountersSourceTest, ReadsTheConfigMapAgainWhereItMayNotWatchIt) {
  const auto serve = [&](const std::string& metrics) {
    server_.Serve(std::string(kMaps) + "/metrics", std::string("{\"metadata\":{") + kMapMetadata +
                                                       R"(,"resourceVersion":"101"})" +
                                                       Data(metrics) + "}");
  };
  serve(R"(DCGM_FI_DEV_GPU_TEMP, gauge, t\n)");
  clock_.is_pauseless = true;
  EXPECT_EQ(Names(Load()), "ConfigMap gpu/metrics: DCGM_FI_DEV_GPU_TEMP");
  server_.AwaitRequests(4);
  EXPECT_FALSE(source_->LoadIfChanged().has_value());
  serve(R"(DCGM_FI_DEV_FB_USED, gauge, u\n)");
  EXPECT_EQ(Names(Next()), "ConfigMap gpu/metrics: DCGM_FI_DEV_FB_USED");
}

TEST_F(CountersSourceTest, KeepsTheLastListWhenTheConfigMapIsDeleted) {
  PutMap(Data(R"(DCGM_FI_DEV_GPU_TEMP, gauge, t\n)"));
  ASSERT_TRUE(Load().ok());
  server_.AwaitWatches(1);
  server_.Delete(kMaps, "gpu/metrics");
  EXPECT_TRUE(Names(Next()).starts_with("ConfigMap gpu/metrics was deleted; the last list "));
  EXPECT_FALSE(source_->LoadIfChanged().has_value());
}

TEST(ConfigMapNames, AreANamespaceAndAName) {
  const StatusOr<ConfigMapName> name = ParseConfigMapName("gpu-operator:metrics.v1");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->name_space, "gpu-operator");
  EXPECT_EQ(name->name, "metrics.v1");
  for (const char* bad : {"", "x", ":", "a:", ":b", "a:b:c", "a:b/../c", "A:b", "a:-b", "a b:c"}) {
    EXPECT_FALSE(ParseConfigMapName(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace podgpu
