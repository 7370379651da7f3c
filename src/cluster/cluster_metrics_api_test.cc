// The cluster role with its metrics API: assembled, started and stopped.
#include <gtest/gtest.h>

#include "cluster/cluster.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"
#include "metrics_api/testing/fake_control_plane.h"

namespace podgpu {
namespace {

class ClusterMetricsApiTest : public testing::Test {
 protected:
  ClusterOptions Options() {
    files_.Write("127.0.0.1:1\n", "nodes");
    for (const std::string_view name : kApiServices) {
      plane_.SetApiService(std::string(name), {"podgpu", "gpu", "", false, 1});
    }
    plane_.SetConfigMap({{"client-ca-file", Authority("ca").certificate()}});
    ClusterOptions options;
    options.http = LoopbackOptions();
    options.nodes = ParseNodesOption("file:" + files_.path("nodes")).value();
    options.metrics_api.address = "127.0.0.1:0";
    options.metrics_api.service = MetricsService{"podgpu", "gpu"};
    options.metrics_api.server = plane_.Options(files_.path(""));
    return options;
  }
  StatusOr<std::unique_ptr<Cluster>> Start(const ClusterOptions& options) {
    return Cluster::Start(options, {clock_, system_files_, ResolveBySystem});
  }

  const WebConfigFiles files_;
  const SystemFiles system_files_;
  SystemClock clock_;
  FakeControlPlane plane_;
};

TEST_F(ClusterMetricsApiTest, TellsOnItsPageWhenTheMetricsApiIsReady) {
  auto cluster = Start(Options());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_NE((*cluster)->metrics_api_port(), 0);
  std::string page;
  LoopbackClient client((*cluster)->port());
  Await([&] {
    page = client.Fetch("/metrics").body;
    return page.find("\npodgpu_metrics_api_ready 1\n") != std::string::npos;
  });
  for (const std::string_view line :
       {"podgpu_metrics_api_watch_up{what=\"callers\"} 1\n",
        "podgpu_metrics_api_watch_up{what=\"pod_labels\"} 1\n",
        "podgpu_metrics_api_apiservice_state{apiservice=\"v1beta1.external.metrics.k8s.io\","
        "state=\"ours\"} 1\n",
        "podgpu_metrics_api_window_samples 0\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << page;
  }
  EXPECT_TRUE((*cluster)->Stop(std::chrono::minutes(1)));
}

TEST_F(ClusterMetricsApiTest, RefusesTwoListenersOnOneAddress) {
  ClusterOptions options = Options();
  auto first = Start(options);
  ASSERT_TRUE(first.ok()) << first.status();
  options.metrics_api.address = "127.0.0.1:" + std::to_string((*first)->port());
  EXPECT_EQ(Start(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace podgpu
