#include "cluster/api_nodes.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "base/wakeup.h"
#include "base/worker.h"
#include "cluster/discovery.h"
#include "kube/testing/fake_api_server.h"

namespace podgpu {
namespace {

constexpr std::string_view kSlices = "/apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices";
constexpr std::string_view kGpuPods = "/api/v1/namespaces/gpu/pods";

// "ip node, " of each.
std::string NodesText(const std::vector<NodeAddress>& nodes) {
  std::string text;
  for (const NodeAddress& node : nodes) {
    text += (text.empty() ? "" : ", ") + node.id + " " + node.expected_node;
  }
  return text;
}

ApiObject SliceOf(std::string type, std::vector<ApiEndpoint> endpoints,
                  std::vector<ApiPort> ports = {{"metrics", 9400}}) {
  ApiObject slice;
  slice.address_type = std::move(type);
  slice.endpoints = std::move(endpoints);
  slice.ports = std::move(ports);
  return slice;
}

ApiObject PodAt(const std::string& ip, const std::string& node, std::vector<ApiPort> ports) {
  ApiObject pod;
  pod.ip = ip;
  pod.node = node;
  pod.containers.push_back({.name = "main", .id = "", .requests = {}, .ports = std::move(ports)});
  return pod;
}

TEST(ApiNodesOption, NamesAServiceOrLabels) {
  const ApiNodesOption service = ParseEndpointsOption("gpu/podgpu").value();
  EXPECT_EQ(ScopeOf(service).name_space, "gpu");
  EXPECT_EQ(ScopeOf(service).labels, "kubernetes.io/service-name=podgpu");
  EXPECT_EQ(ParseEndpointsOption("gpu/podgpu:http-metrics")->port, "http-metrics");
  const ApiNodesOption pods = ParsePodsOption("gpu/app=podgpu,tier in (a,b):9500").value();
  EXPECT_EQ(ScopeOf(pods).labels, "app=podgpu,tier in (a,b)");
  EXPECT_EQ(pods.port, "9500");
  // The key of a label may contain a slash.
  EXPECT_EQ(ParsePodsOption("gpu/app.kubernetes.io/name=podgpu")->selected,
            "app.kubernetes.io/name=podgpu");
}

TEST(ApiNodesOption, RefusesIncompleteNames) {
  for (const std::string_view wrong :
       {"", "podgpu", "/podgpu", "gpu/", "Gpu/podgpu", "gpu/podgpu:", "gpu/podgpu:0",
        "gpu/podgpu:70000", "gpu/podgpu:Metrics", "gpu/a/b", "gpu:80/podgpu", "../x/podgpu"}) {
    EXPECT_FALSE(ParseEndpointsOption(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(ParsePodsOption("gpu/").ok());
  EXPECT_FALSE(ParsePodsOption("gpu/app=\n").ok());
  EXPECT_EQ(ParseEndpointsOption("podgpu").status().message(),
            "must be endpoints:NAMESPACE/SERVICE or endpoints:NAMESPACE/SERVICE:PORT; PORT is a "
            "name or a number");
}

TEST(NodesIn, AreTheReadyEndpointsOfAService) {
  const ApiObjects slices = {{"gpu/podgpu-1", SliceOf("IPv4", {{"10.0.0.1", "gpu-1", true},
                                                               {"10.0.0.2", "gpu-2", false}})},
                             {"gpu/podgpu-2", SliceOf("IPv4", {{"10.0.0.3", "gpu-3", true}})},
                             {"gpu/podgpu-6", SliceOf("IPv6", {{"fd00::1", "gpu-1", true}})}};
  const FoundNodes found = NodesIn(ParseEndpointsOption("gpu/podgpu").value(), slices);
  EXPECT_EQ(NodesText(found.addresses), "10.0.0.1:9400 gpu-1, 10.0.0.3:9400 gpu-3");
  EXPECT_EQ(found.addresses.front().name, "podgpu.gpu.svc");
  EXPECT_TRUE(found.complaints.empty());
  const ApiObjects only_v6 = {{"gpu/podgpu-6", SliceOf("IPv6", {{"fd00::1", "gpu-1", true}})}};
  EXPECT_EQ(NodesText(NodesIn(ParseEndpointsOption("gpu/podgpu").value(), only_v6).addresses),
            "[fd00::1]:9400 gpu-1");
}

TEST(NodesIn, TakeThePortThatTheOptionNames) {
  struct Row {
    std::string_view option;
    std::vector<ApiPort> ports;
    std::string_view nodes;
  };
  const Row rows[] = {
      {"gpu/podgpu", {{"web", 80}, {"metrics", 9500}}, "10.0.0.1:9500 n"},
      {"gpu/podgpu", {{"", 80}}, "10.0.0.1:80 n"},
      {"gpu/podgpu", {{"web", 80}, {"admin", 81}}, ""},
      {"gpu/podgpu:admin", {{"web", 80}, {"admin", 81}}, "10.0.0.1:81 n"},
      {"gpu/podgpu:7", {{"web", 80}}, "10.0.0.1:7 n"},
      {"gpu/podgpu:none", {{"web", 80}}, ""},
  };
  for (const Row& row : rows) {
    const ApiObjects slices = {{"s", SliceOf("IPv4", {{"10.0.0.1", "n", true}}, row.ports)}};
    const FoundNodes found = NodesIn(ParseEndpointsOption(row.option).value(), slices);
    EXPECT_EQ(NodesText(found.addresses), row.nodes) << row.option;
    EXPECT_EQ(found.complaints.size(), row.nodes.empty() ? 1U : 0U) << row.option;
  }
}

TEST(NodesIn, ArePodsThatHaveAnAddress) {
  ApiObject ended = PodAt("10.0.0.9", "gpu-9", {});
  ended.has_ended = true;
  ApiObject other = PodAt("10.0.0.2", "gpu-2", {{"other", 1}});
  other.name_space = "gpu";
  other.name = "b";
  const ApiObjects pods = {{"gpu/a", PodAt("10.0.0.1", "gpu-1", {{"metrics", 9500}})},
                           {"gpu/b", other},
                           {"gpu/c", PodAt("", "", {})},
                           {"gpu/d", ended}};
  EXPECT_EQ(NodesText(NodesIn(ParsePodsOption("gpu/app=podgpu").value(), pods).addresses),
            "10.0.0.1:9500 gpu-1, 10.0.0.2:9400 gpu-2");
  const FoundNodes named = NodesIn(ParsePodsOption("gpu/app=podgpu:metrics").value(), pods);
  EXPECT_EQ(NodesText(named.addresses), "10.0.0.1:9500 gpu-1");
  EXPECT_EQ(named.complaints,
            std::vector<std::string>{"the pod gpu/b has no port named \"metrics\""});
}

// Otherwise a user with the permission to write the status of a pod could make the cluster role
// send requests to itself or to the cloud's metadata server.
TEST(NodesIn, LeaveOutPodsWithAnAddressThatNoPodCanHave) {
  const ApiObjects pods = {{"gpu/a", PodAt("127.0.0.1", "gpu-1", {})},
                           {"gpu/b", PodAt("169.254.169.254", "gpu-2", {})},
                           {"gpu/c", PodAt("10.0.0.1", "gpu-3", {})}};
  const FoundNodes found = NodesIn(ParsePodsOption("gpu/app=podgpu").value(), pods);
  EXPECT_EQ(NodesText(found.addresses), "10.0.0.1:9400 gpu-3");
  ASSERT_EQ(found.complaints.size(), 2U);
  EXPECT_NE(found.complaints[1].find("reports the address \"169.254.169.254\", which is not a "
                                     "valid pod address"),
            std::string::npos)
      << found.complaints[1];
}

// A clock on which waiting takes no time.
class SwiftClock final : public Clock {
 public:
  Instant Now() const override { return SystemClock().Now(); }
  WallTime WallNow() const override { return WallTime(); }

 private:
  bool Wait(Instant /*deadline*/, const std::stop_token& stop, Wakeup* /*wakeup*/) override {
    return !stop.stop_requested();
  }
};

// The discovery over a real connection to a simulated API server.
class ApiDiscoveryTest : public ::testing::Test {
 protected:
  ~ApiDiscoveryTest() override {
    thread_.RequestStop();
    thread_.JoinWithin(std::chrono::hours(1));
  }
  void Start(std::string_view nodes) {
    NodesOption option = ParseNodesOption(nodes).value();
    option.api.server = server_.Options();
    discovery_ = std::make_unique<NodeDiscovery>(std::move(option), files_, ResolveBySystem, clock_,
                                                 [this] { changed_.Nudge(); });
    thread_.Start([this](const std::stop_token& stop) { discovery_->Run(stop); }, "discovery");
  }
  void Await(const std::function<bool(const NodeList&)>& holds) {
    const std::stop_token never;
    SystemClock real;
    while (!holds(*discovery_->nodes().Get())) {
      changed_.SleepUntil(real, real.Now() + std::chrono::seconds(1), never);
    }
  }
  void AwaitNodes(const std::string& nodes) {
    Await([&](const NodeList& list) { return list.is_ok && NodesText(list.addresses) == nodes; });
  }
  void PutSlice(const std::string& name, const std::string& endpoints) {
    server_.Put(kSlices, "gpu/" + name,
                R"("namespace":"gpu","labels":{"kubernetes.io/service-name":"podgpu"},"name":")" +
                    name + "\"",
                R"(,"addressType":"IPv4","ports":[{"name":"metrics","port":9400}],"endpoints":[)" +
                    endpoints + "]");
  }
  static std::string Endpoint(const std::string& ip, const std::string& node,
                              const std::string& ready = "true") {
    return R"({"addresses":[")" + ip + R"("],"conditions":{"ready":)" + ready +
           R"(},"nodeName":")" + node + "\"}";
  }

  FakeApiServer server_;
  SystemFiles files_;
  SwiftClock clock_;
  Wakeup changed_;
  std::unique_ptr<NodeDiscovery> discovery_;
  Worker thread_;
};

TEST_F(ApiDiscoveryTest, FollowsTheEndpointsOfAService) {
  PutSlice("a", Endpoint("10.0.0.1", "gpu-1") + "," + Endpoint("10.0.0.2", "gpu-2", "null"));
  Start("endpoints:gpu/podgpu");
  AwaitNodes("10.0.0.1:9400 gpu-1, 10.0.0.2:9400 gpu-2");
  PutSlice("b", Endpoint("10.0.0.3", "gpu-3"));
  AwaitNodes("10.0.0.1:9400 gpu-1, 10.0.0.2:9400 gpu-2, 10.0.0.3:9400 gpu-3");
  PutSlice("a", Endpoint("10.0.0.1", "gpu-1", "false"));
  AwaitNodes("10.0.0.3:9400 gpu-3");
  server_.Delete(kSlices, "gpu/b");
  AwaitNodes("");
  EXPECT_EQ(discovery_->nodes().Get()->detail,
            "0 nodes are known: the Service gpu/podgpu has no ready endpoint");
  const std::vector<std::string> requests = server_.requests();
  ASSERT_EQ(requests.size(), 2U) << "one list, one watch";
  EXPECT_EQ(requests[0],
            "GET /apis/discovery.k8s.io/v1/namespaces/gpu/endpointslices"
            "?labelSelector=kubernetes.io%2Fservice-name%3Dpodgpu&limit=500");
}

TEST_F(ApiDiscoveryTest, FollowsPodsByTheirLabels) {
  const auto put = [this](const std::string& name, const std::string& ip) {
    server_.Put(
        kGpuPods, "gpu/" + name,
        R"("namespace":"gpu","labels":{"app.kubernetes.io/name":"podgpu"},"name":")" + name + "\"",
        R"(,"spec":{"nodeName":"gpu-1","containers":[{"name":"podgpu","ports":[)"
        R"({"name":"dns","containerPort":53,"protocol":"UDP"},)"
        R"({"name":"metrics","containerPort":9500,"protocol":"TCP"}]}]},)"
        R"("status":{"phase":"Running","podIP":")" +
            ip + "\"}");
  };
  put("podgpu-1", "");
  Start("pods:gpu/app.kubernetes.io/name=podgpu");
  AwaitNodes("");
  put("podgpu-1", "10.0.0.1");
  AwaitNodes("10.0.0.1:9500 gpu-1");
  server_.Delete(kGpuPods, "gpu/podgpu-1");
  AwaitNodes("");
  EXPECT_EQ(server_.requests().front(),
            "GET /api/v1/namespaces/gpu/pods?labelSelector=app.kubernetes.io%2Fname%3Dpodgpu"
            "&limit=500");
}

TEST_F(ApiDiscoveryTest, KeepsItsNodesWhileTheServerFailsAndListsAgainAfter410) {
  PutSlice("a", Endpoint("10.0.0.1", "gpu-1"));
  Start("endpoints:gpu/podgpu");
  server_.AwaitWatches(1);
  server_.SetDown(true);
  Await([](const NodeList& list) { return !list.is_ok; });
  EXPECT_EQ(NodesText(discovery_->nodes().Get()->addresses), "10.0.0.1:9400 gpu-1");
  EXPECT_GE(discovery_->nodes().Get()->failures, 1U);
  PutSlice("a", Endpoint("10.0.0.4", "gpu-4"));
  server_.ForgetHistory();  // Watches that continue get 410.
  server_.SetDown(false);
  AwaitNodes("10.0.0.4:9400 gpu-4");
}

TEST_F(ApiDiscoveryTest, ReadsTheTokenFileAgainForEachAttempt) {
  PutSlice("a", Endpoint("10.0.0.1", "gpu-1"));
  Start("endpoints:gpu/podgpu");
  server_.AwaitWatches(1);
  server_.AcceptToken("rotated");
  server_.EndWatches();
  Await([](const NodeList& list) { return !list.is_ok; });
  EXPECT_NE(discovery_->nodes().Get()->detail.find("401"), std::string::npos);
  server_.folder().Write("token", "rotated");
  PutSlice("a", Endpoint("10.0.0.5", "gpu-5"));
  AwaitNodes("10.0.0.5:9400 gpu-5");
}

TEST_F(ApiDiscoveryTest, NamesTheRightThatIsMissing) {
  constexpr int kForEver = 1'000'000;
  PutSlice("a", Endpoint("10.0.0.1", "gpu-1"));
  server_.Refuse(kForEver, 403);
  Start("endpoints:gpu/podgpu");
  Await([](const NodeList& list) { return list.failures > 0; });
  EXPECT_EQ(
      discovery_->nodes().Get()->detail,
      "the API server answers 403 to list endpointslices: \"Refused by order of the test\". Grant "
      "list and watch of endpointslices (discovery.k8s.io) in the namespace gpu by a Role; the 0 "
      "nodes found before stay");
  server_.Refuse(0, 403);
  AwaitNodes("10.0.0.1:9400 gpu-1");
}

}  // namespace
}  // namespace podgpu
