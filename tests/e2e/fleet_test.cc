// The cluster role over a simulated fleet: nodes that hang, refuse or send garbage do not affect
// the others.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <limits>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "sim/kube/api_server.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

// The value of a line that begins with `name`, -1 when there is none.
int64_t ValueOf(const std::string& page, const std::string& name) {
  int64_t value = -1;
  RE2::PartialMatch(page, "\n" + RE2::QuoteMeta(name) + R"( ([0-9]+)\n)", &value);
  return value;
}

int64_t NodesThatAre(const std::string& page, const std::string& state) {
  return ValueOf(page, "podgpu_cluster_nodes{state=\"" + state + "\"}");
}

int64_t FetchesOf(const std::string& page, const std::string& result) {
  return ValueOf(page, "podgpu_cluster_fetches_total{result=\"" + result + "\"}");
}

size_t CountOfLines(std::string_view page, std::string_view begin) {
  size_t count = 0;
  for (const std::string_view line : Split(page, '\n')) {
    count += line.starts_with(begin) ? 1U : 0U;
  }
  return count;
}

// Writes the file of nodes with the port that the system has chosen.
std::string PortIn(const std::string& nodes) {
  std::ifstream file(nodes);
  std::string first_line;
  std::string address;
  std::getline(file, first_line);
  file >> address;
  return address.substr(address.rfind(':') + 1);
}

// The API server's list of two nodes: one reports its own name, the other a different one.
void PutEndpoints(sim::FakeApi& api, const std::string& second, const std::string& port) {
  const auto endpoint = [](const std::string& ip, const std::string& node) {
    return R"({"addresses":[")" + ip + R"("],"nodeName":")" + node + "\"}";
  };
  api.Put("/apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices", "gpu/podgpu-a",
          R"("namespace":"gpu","name":"podgpu-a",)"
          R"("labels":{"kubernetes.io/service-name":"podgpu"})",
          R"(,"addressType":"IPv4","ports":[{"name":"metrics","port":)" + port +
              R"(}],"endpoints":[)" + endpoint("127.16.0.1", "gpu-node-0001") + "," +
              endpoint("127.16.0.2", second) + "]");
}

TEST(SimulatedFleet, IsFoundByTheEndpointsOfAService) {
  const TemporaryFolder folder;
  const std::string nodes = folder.path() + "/nodes";
  Child fleet({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "--nodes=2", "--port=0",
               "--nodes-file=" + nodes});
  ASSERT_TRUE(fleet.AwaitLine("ready")) << fleet.output();
  sim::FakeApi api;
  ASSERT_TRUE(api.WriteCredentials(folder.path()));
  PutEndpoints(api, "gpu-node-0003", PortIn(nodes));

  Child cluster(
      {PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0", "--nodes=endpoints:gpu/podgpu",
       "--node-interval=1s"},
      {"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + std::to_string(api.port()),
       "PODGPU_SERVICE_ACCOUNT_DIR=" + folder.path()});
  ASSERT_TRUE(
      cluster.AwaitLine("the node calls itself \\\"gpu-node-0002\\\" but is known as "
                        "\\\"gpu-node-0003\\\""))
      << cluster.output();
  PutEndpoints(api, "gpu-node-0002", PortIn(nodes));
  EXPECT_TRUE(cluster.AwaitLine("ready: 2 of 2 nodes answer, with 16 GPUs")) << cluster.output();
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

// A DaemonSet's pod as an API server sends it: 8 KiB, most of it unused here.  Its address is in
// 100::/64, which is not routed.
void PutNodePod(sim::FakeApi& api, int number) {
  char suffix[8];
  std::snprintf(suffix, sizeof suffix, "%04x", static_cast<unsigned>(number));
  const std::string name = std::string("podgpu-") + suffix;
  api.Put("/api/v1/pods", "gpu/" + name,
          R"("namespace":"gpu","labels":{"app":"podgpu"},"name":")" + name +
              R"(","managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":")" +
              std::string(7'000, 'f') + "\"}}]",
          R"(,"spec":{"nodeName":"gpu-node-)" + std::string(suffix) +
              R"(","containers":[{"name":"podgpu","ports":[{"name":"metrics","containerPort":)" +
              R"(9400}],"resources":{"requests":{"cpu":"100m"}}}]},)" +
              R"("status":{"phase":"Running","podIP":"100::)" + suffix +
              R"(","containerStatuses":[{"name":"podgpu","containerID":"containerd://)" +
              std::string(64, '7') + R"("}]})");
}

// In MiB, from /proc/PID/status.
int64_t MebibytesOf(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) {
      return static_cast<int64_t>(
          ParseDecimal(Trim(line.substr(key.size() + 1), " \t kB")).value_or(0) / 1'024);
    }
  }
  return -1;
}

// The limit is for an unoptimised build, with pages about 10,000 nodes that do not answer.  A
// sanitizer needs memory of its own.
#if defined(PODGPU_ADDRESS_SANITIZER) || defined(PODGPU_THREAD_SANITIZER)
constexpr int64_t kMostMebibytes = std::numeric_limits<int64_t>::max();
#else
constexpr int64_t kMostMebibytes = 80;
#endif

TEST(SimulatedFleet, OfTenThousandPodsIsFoundWithLittleMemory) {
  const TemporaryFolder folder;
  sim::FakeApi api;
  ASSERT_TRUE(api.WriteCredentials(folder.path()));
  for (int i = 0; i < 10'000; ++i) {
    PutNodePod(api, i);
  }
  Child cluster(
      {PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0", "--nodes=pods:gpu/app=podgpu",
       "--nodes-at-once=1", "--node-interval=1h"},
      {"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + std::to_string(api.port()),
       "PODGPU_SERVICE_ACCOUNT_DIR=" + folder.path()});
  ASSERT_TRUE(cluster.AwaitLine("10000 nodes are known")) << cluster.output();
  api.AwaitWatches(1);
  const std::vector<std::string> requests = api.requests();
  EXPECT_EQ(requests.size(), 21U) << "20 pages and one watch are requested";
  EXPECT_EQ(requests.front(),
            "GET /api/v1/namespaces/gpu/pods?labelSelector=app%3Dpodgpu&limit=500");
  RecordProperty("peak_mib", static_cast<int>(MebibytesOf(cluster.pid(), "VmHWM")));
  EXPECT_LT(MebibytesOf(cluster.pid(), "VmHWM"), kMostMebibytes);
  // The list after a 410 is read while the old one is still in memory.
  api.ForgetHistory();
  api.EndWatches();
  api.AwaitRequests(requests.size() + 21);
  api.AwaitWatches(1);
  RecordProperty("peak_again_mib", static_cast<int>(MebibytesOf(cluster.pid(), "VmHWM")));
  EXPECT_LT(MebibytesOf(cluster.pid(), "VmHWM"), kMostMebibytes);
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

// Each node has one GPU with one process.
TEST(SimulatedFleet, CountsTheDevicesInUseByTheirProcesses) {
  const TemporaryFolder folder;
  const std::string nodes = folder.path() + "/nodes";
  Child fleet({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "one-gpu", "--nodes=6", "--port=0",
               "--nodes-file=" + nodes});
  ASSERT_TRUE(fleet.AwaitLine("ready")) << fleet.output();
  const auto page_with = [&](const std::string& meaning) {
    Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                   "--nodes=file:" + nodes, "--in-use=" + meaning});
    const std::optional<std::string> serving = cluster.AwaitLine("msg=\"serving\"");
    EXPECT_TRUE(cluster.AwaitLine("ready: 6 of 6 nodes answer")) << cluster.output();
    const auto port = static_cast<uint16_t>(
        ParseDecimal(std::string_view(*serving).substr(serving->find("port=") + 5)).value_or(0));
    std::string page = LoopbackClient(port).Fetch("/metrics").body;
    cluster.Signal(SIGTERM);
    EXPECT_EQ(cluster.Wait(), 0);
    return page;
  };
  const std::string by_process = page_with("process");
  EXPECT_EQ(ValueOf(by_process, "podgpu_in_use_unknown_devices{measure=\"sm\"}"), 0) << by_process;
  EXPECT_EQ(ValueOf(by_process, "podgpu_in_use_devices{measure=\"memory_fill\"}"), 6) << by_process;
}

TEST(SimulatedFleet, TellsThePoolsOfItsNodes) {
  const TemporaryFolder folder;
  const std::string nodes = folder.path() + "/nodes";
  Child fleet({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "one-gpu", "--nodes=66", "--port=0",
               "--nodes-file=" + nodes, "--api-server=" + folder.path() + "/api"});
  ASSERT_TRUE(fleet.AwaitLine("ready")) << fleet.output();
  std::ifstream file(folder.path() + "/api/env");
  std::vector<std::string> variables;
  for (std::string line; std::getline(file, line);) {
    variables.push_back(line);
  }
  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--nodes=file:" + nodes, "--group-labels=pool,rack,zone"},
                variables);
  const std::optional<std::string> serving = cluster.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(serving) << cluster.output();
  ASSERT_TRUE(cluster.AwaitLine("ready: 66 of 66 nodes answer")) << cluster.output();
  const auto port = static_cast<uint16_t>(
      ParseDecimal(std::string_view(*serving).substr(serving->find("port=") + 5)).value_or(0));
  std::string json;
  do {
    json = LoopbackClient(port).Fetch("/api/v1/fleet").body;
  } while (!json.empty() && json.find("\"groups\":[]") != std::string::npos);
  EXPECT_NE(json.find(R"({"label":"pool",)"
                      "\n"
                      R"("names":["pool-a","pool-b"],)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"({"label":"zone",)"
                      "\n"
                      R"("names":[],)"),
            std::string::npos)
      << json;
  EXPECT_EQ(ValueOf(LoopbackClient(port).Fetch("/metrics").body, "podgpu_cluster_node_labels_up"),
            1);
  // Without the API server the labels stay; the log, /readyz and the page name the cause.
  fleet.Signal(SIGTERM);
  EXPECT_EQ(fleet.Wait(), 0);
  EXPECT_TRUE(cluster.AwaitLine("msg=\"the labels of nodes cannot be read\"")) << cluster.output();
  EXPECT_TRUE(cluster.AwaitLine("the labels read before stay")) << cluster.output();
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

TEST(SimulatedFleet, MapsTheNodesThatAnswer) {
  const TemporaryFolder folder;
  const std::string nodes = folder.path() + "/nodes";
  Child fleet({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "--nodes=80", "--port=0",
               "--hanging=10", "--refusing=10", "--garbage=5", "--nodes-file=" + nodes});
  ASSERT_TRUE(fleet.AwaitLine("ready")) << fleet.output();
  EXPECT_NE(fleet.output().find("; 8 hang, 8 refuse, 4 answer garbage"), std::string::npos);

  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--nodes=file:" + nodes, "--node-interval=1s", "--node-timeout=5s"});
  const std::optional<std::string> serving = cluster.AwaitLine("msg=\"serving\"");
  ASSERT_TRUE(serving) << cluster.output();
  const auto port = static_cast<uint16_t>(
      ParseDecimal(std::string_view(*serving).substr(serving->find("port=") + 5)).value_or(0));
  ASSERT_TRUE(cluster.AwaitLine("ready: 60 of 80 nodes answer, with 480 GPUs")) << cluster.output();
  const std::string page = LoopbackClient(port).Fetch("/metrics").body;

  EXPECT_EQ(NodesThatAre(page, "ok"), 60) << page;
  EXPECT_EQ(NodesThatAre(page, "unresponsive"), 20);
  EXPECT_EQ(ValueOf(page, "podgpu_cluster_gpus"), 60 * 8);
  EXPECT_EQ(ValueOf(page, "podgpu_cluster_repeated_gpus"), 0);
  EXPECT_EQ(CountOfLines(page, "pod_and_gpu_map_info{"), 60U * 11U);
  EXPECT_GE(FetchesOf(page, "timeout"), 8);
  EXPECT_GE(FetchesOf(page, "no_connection"), 8);

  fleet.Signal(SIGTERM);
  EXPECT_EQ(fleet.Wait(), 0);
  cluster.Signal(SIGTERM);
  EXPECT_EQ(cluster.Wait(), 0);
}

}  // namespace
}  // namespace podgpu
