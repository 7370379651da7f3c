// The rights of the chart and of the manifests are exactly those that podgpu uses: every rendered
// command line runs on a simulated node, with an API server that refuses all that its account's
// roles do not grant.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <poll.h>

#include <gtest/gtest.h>

#include "sim/kube/api_server.h"
#include "tests/chart/launches.h"
#include "tests/e2e/child.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

constexpr std::string_view kReader = "reader";
constexpr char kMetricPath[] =
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/research/avg_gpu_utilization";
constexpr char kOwnCounters[] = R"(,"data":{"metrics":"DCGM_FI_DEV_GPU_TEMP,gauge,From the API."})";

// The variables of a file with a line for each.
std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

// The renders and their checks, made once for all tests; one node for all launches whose kubelet
// refuses its list of pods, and one for those that may read it.
class RightsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new TemporaryFolder();
    check_ = new Child({"tests/chart/check", PODGPU_HELM, PODGPU_DEPLOYCHECK,
                        PODGPU_BINARY_DIR "/bin/podgpu", work_->path()});
    exit_code_ = check_->Wait();
    const std::string scenario = work_->Write("node.yaml", kThreeGpus);
    for (SimNode** node : {&node_, &open_node_}) {
      *node = new SimNode(scenario, SimNode::Pace::kReal, {"--kubelet-https"});
    }
    node_->Command({"fault", "kubelet_https_forbidden"});
    node_->AwaitLine("kubelet_https_forbidden");
  }
  static void TearDownTestSuite() {
    delete node_;
    delete open_node_;
    delete check_;
    delete work_;
  }

  static std::vector<Launch> AllLaunches() {
    std::vector<Launch> all;
    for (const auto& folder : std::filesystem::directory_iterator(work_->path() + "/launches")) {
      for (Launch& launch : ReadLaunches(folder.path().string() + "/launches.json")) {
        all.push_back(std::move(launch));
      }
    }
    return all;
  }

  static TemporaryFolder* work_;
  static Child* check_;
  static int exit_code_;
  static SimNode *node_, *open_node_;
};
TemporaryFolder* RightsTest::work_ = nullptr;
Child* RightsTest::check_ = nullptr;
int RightsTest::exit_code_ = -1;
SimNode* RightsTest::node_ = nullptr;
SimNode* RightsTest::open_node_ = nullptr;

// The uid of the pod train-0, from the cgroup of its process.
std::string UidOfPod(const SimNode& node) {
  const std::vector<std::string> lines = LinesOf(node.directory() + "/proc/41/cgroup");
  constexpr size_t kUidCharacters = 36;
  const size_t at = lines.empty() ? std::string::npos : lines[0].find("-pod");
  if (at == std::string::npos) {
    ADD_FAILURE() << "the process has no pod";
    return {};
  }
  std::string uid = lines[0].substr(at + 4, kUidCharacters);
  std::ranges::replace(uid, '_', '-');
  return uid;
}

// The objects of the cluster that podgpu can ask for.
void Fill(sim::FakeApi& server, const std::string& name_space, const SimNode& node) {
  server.PutPod("research", "train-0", UidOfPod(node), R"({"app":"trainer"})");
  server.Put("/apis/resource.k8s.io/v1/resourceslices", "slice-of-another-driver",
             R"("name":"slice-of-another-driver")", R"(,"spec":{"driver":"other.example"})");
  server.Serve("/apis/resource.k8s.io",
               R"({"kind":"APIGroup","name":"resource.k8s.io","versions":[)"
               R"({"groupVersion":"resource.k8s.io/v1","version":"v1"}]})");
  server.Put("/apis/discovery.k8s.io/v1/endpointslices", name_space + "/podgpu-nodes-1",
             "\"namespace\":\"" + name_space +
                 R"(","name":"podgpu-nodes-1","labels":)"
                 R"({"kubernetes.io/service-name":"podgpu-nodes"})",
             R"(,"addressType":"IPv4","endpoints":[],"ports":[])");
  server.Put("/api/v1/configmaps", name_space + "/exporter-metrics-config-map",
             "\"namespace\":\"" + name_space + R"(","name":"exporter-metrics-config-map")",
             kOwnCounters);
  server.Put("/api/v1/nodes", "node-a", R"("name":"node-a")");
}

// What the metrics APIs of a launch need, and a user who may read all metrics.
void FillForMetrics(sim::FakeApi& server, const Launch& launch) {
  server.PutTrust({server.certificate(), server.certificate()});
  server.AcceptUser(std::string(kReader), {std::string(kReader)});
  server.Permit({{.user = std::string(kReader), .group = ""}});
  constexpr std::string_view kFlag = "--metrics-api-service=";
  for (const std::string& argument : launch.arguments) {
    const size_t dot = argument.find('.');
    if (argument.starts_with(kFlag) && dot != std::string::npos) {
      for (const char* const api :
           {"v1beta1.external.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io"}) {
        server.PutApiService(api, argument.substr(dot + 1),
                             argument.substr(kFlag.size(), dot - kFlag.size()));
      }
    }
  }
}

// Whether the kubelet, and not the API server, decides about the grant.
bool IsOfKubelet(const sim::ApiGrant& grant) { return grant.resource == "nodes/pods"; }

// Whether podgpu itself asks for what is granted: constraints are used by OpenShift.
bool IsAsked(const sim::ApiGrant& grant) { return grant.group != "security.openshift.io"; }

// One launch as a process on the simulated node.
class Started {
 public:
  Started(const Launch& launch, const SimNode& node) : launch_(launch), node_(node) {
    Fill(server_, launch.name_space, node);
    FillForMetrics(server_, launch);
    server_.SetGrants(launch.grants);
    EXPECT_TRUE(server_.WriteCredentials(files_.path()));
    std::vector<std::string> words = {PODGPU_BINARY_DIR "/bin/podgpu"};
    words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
    const std::vector<std::string> here = launch.role == "node" ? NodeFlags() : ClusterFlags();
    words.insert(words.end(), here.begin(), here.end());
    process_.emplace(words, Variables());
    port_ = ServedPort(*process_);
  }

  // Waits until the page holds.
  bool Await(const std::function<bool(const MetricPage&)>& holds) {
    for (int i = 0; i < 3'000 && process_->IsRunning(); ++i) {
      if (holds(Page())) {
        return true;
      }
      ::poll(nullptr, 0, 10);
    }
    return false;
  }
  MetricPage Page() const { return MetricPage(Fetch("/metrics").body); }
  LoopbackResponse Fetch(const std::string& path) const {
    LoopbackClient client(port_);
    return client.connected() ? client.Fetch(path) : LoopbackResponse();
  }
  // Asks the metrics API with a token, so that podgpu asks the API server about its user.
  std::string StatusOfMetrics() const {
    Child curl({"curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H",
                "Authorization: Bearer " + std::string(kReader),
                "https://" + metrics_address_ + kMetricPath});
    curl.Wait();
    return curl.output();
  }
  bool HasMetrics() const { return launch_.Says("--metrics-api-listen="); }
  uint16_t port() const { return port_; }
  Child& process() { return *process_; }
  const sim::FakeApi& server() const { return server_; }

 private:
  bool AsksKubelet() const { return launch_.Says("PODGPU_KUBELET_PODS_URL="); }

  // The last flag of a name counts, so these replace the container's paths and addresses.
  std::vector<std::string> NodeFlags() const {
    std::vector<std::string> flags = {"-a=127.0.0.1:0",
                                      "-c=200",
                                      "--process-interval=200ms",
                                      "--pod-resources-kubelet-socket=" + node_.kubelet_socket(),
                                      "--libdcgm=" + node_.library("libdcgm.so.4"),
                                      "--libnvidia-ml=" + node_.library("libnvidia-ml.so.1"),
                                      "--sysfs-root=" + node_.directory() + "/sys",
                                      "--proc-root=" + node_.directory() + "/proc",
                                      "--dump-directory=" + files_.path() + "/dump",
                                      "--web-config-file="};
    if (!AsksKubelet()) {
      flags.push_back("--service-account-dir=" + Credentials());
    }
    if (launch_.Says("DCGM_REMOTE_HOSTENGINE_INFO=") || launch_.Says("-r")) {
      flags.push_back("-r=" + node_.engine_address());
    }
    if (launch_.Says("PODGPU_QUERY_ADDR=")) {
      flags.insert(flags.end(), {"--query-addr=127.0.0.1", "--query-port=0"});
    }
    for (const std::string name : {"--textfile-device=", "--textfile-pod="}) {
      if (launch_.Says(name)) {
        flags.push_back(name + files_.path() + "/page.prom");
      }
    }
    return flags;
  }

  std::vector<std::string> ClusterFlags() const {
    std::vector<std::string> flags = {"-a=127.0.0.1:0", "--node-web-config=", "--web-config-file=",
                                      "--service-account-dir=" + Credentials()};
    if (launch_.Says("--in-use-listen=")) {
      flags.emplace_back("--in-use-listen=127.0.0.1:0");
    }
    if (HasMetrics()) {
      flags.push_back("--metrics-api-listen=" + metrics_address_);
    }
    return flags;
  }

  std::string Credentials() const {
    return launch_.has_token ? files_.path() : files_.path() + "/none";
  }

  std::vector<std::string> Variables() const {
    std::vector<std::string> variables = node_.variables();
    variables.insert(variables.end(), launch_.variables.begin(), launch_.variables.end());
    variables.emplace_back("KUBERNETES_SERVICE_HOST=127.0.0.1");
    variables.push_back("KUBERNETES_SERVICE_PORT=" + std::to_string(server_.port()));
    if (AsksKubelet()) {
      for (const std::string& line : LinesOf(node_.directory() + "/kubelet/https/env")) {
        const std::string name = line.substr(0, line.find('=') + 1);
        std::erase_if(variables, [&](const std::string& one) { return one.starts_with(name); });
        variables.push_back(line);
      }
    }
    return variables;
  }

  const Launch& launch_;
  const SimNode& node_;
  const TemporaryFolder files_;
  const std::string metrics_address_ = "127.0.0.1:" + std::to_string(FreePort());
  sim::FakeApi server_;
  std::optional<Child> process_;
  uint16_t port_ = 0;
};

// Whether every feature of the launch has its rows, and every server that it asks has answered.
bool ShowsItsFeatures(const Launch& launch, const MetricPage& page, const std::string& uid) {
  const auto all_are = [&page](std::string_view family, const std::string& value) {
    const auto lines = page.Lines(family);
    return std::ranges::all_of(lines, [&](std::string_view line) { return line.ends_with(value); });
  };
  bool shows = page.Value("podgpu_ready") == 1 && all_are("podgpu_api_server_up", " 1") &&
               all_are("podgpu_kubelet_pods_up", " 1");
  const std::vector<std::pair<std::string_view, std::vector<std::string>>> rows = {
      {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS=true", {R"(app="trainer")"}},
      {"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID=true", {R"(pod="train-0")", R"(pod_uid=")" + uid}}};
  for (const auto& [variable, labels] : rows) {
    const bool repeats = launch.Says("KUBERNETES_VIRTUAL_GPUS=true");  // Then without labels.
    shows =
        shows && (!launch.Says(variable) || repeats || page.Has("DCGM_FI_DEV_GPU_TEMP", labels));
  }
  const bool has_processes = launch.Says("PODGPU_PROCESS_METRICS=on");
  const bool has_slices = launch.Says("KUBERNETES_ENABLE_DRA=true");
  const bool has_config_map = launch.Says("-m");
  return shows && (!has_processes || page.Has("my_gpu_process_active", {R"(pod="train-0")"})) &&
         (!has_slices || page.Has("podgpu_api_server_up", {R"(collection="resourceslices")"})) &&
         (!has_config_map || !page.Has("DCGM_FI_DEV_SM_CLOCK"));
}

// The grants that podgpu should use and has not used.
std::vector<std::string> UnusedGrants(const Launch& launch, const Started& started) {
  const std::set<size_t> used = started.server().used_grants();
  std::vector<std::string> unused;
  for (size_t i = 0; i < launch.grants.size(); ++i) {
    const sim::ApiGrant& grant = launch.grants[i];
    // Without a token, the rights are for other pods of the same account.
    if (launch.has_token && IsAsked(grant) && !IsOfKubelet(grant) && !used.contains(i)) {
      unused.push_back(grant.verb + " " + grant.resource);
    }
  }
  return unused;
}

void ExpectNoRefusal(const Launch& launch, Started& started) {
  // A watch begins after the list that is already on the page.
  started.Await([&](const MetricPage&) { return UnusedGrants(launch, started).empty(); });
  EXPECT_EQ(UnusedGrants(launch, started), std::vector<std::string>())
      << "rights that podgpu does not use";
  EXPECT_EQ(started.server().forbidden(), std::vector<std::string>())
      << "requests that no role of the account grants";
  EXPECT_EQ(started.process().output().find("forbidden"), std::string::npos)
      << started.process().output();
  for (const std::string& path : launch.probes) {
    EXPECT_EQ(started.Fetch(path).status, 200) << path;
  }
}

void CheckNode(const Launch& launch, const SimNode& node) {
  const std::string uid = UidOfPod(node);
  Started started(launch, node);
  EXPECT_NE(started.port(), 0) << started.process().output();
  EXPECT_TRUE(started.Await([&](const MetricPage& page) {
    return ShowsItsFeatures(launch, page, uid);
  })) << started.Fetch("/").body
      << started.process().output() << started.Page().text();
  ExpectNoRefusal(launch, started);
}

void CheckCluster(const Launch& launch, const SimNode& node) {
  Started started(launch, node);
  EXPECT_NE(started.port(), 0) << started.process().output();
  if (launch.grants.empty()) {  // It finds nodes without the API server.
    EXPECT_EQ(started.Fetch("/healthz").status, 200);
    EXPECT_TRUE(started.server().requests().empty());
    return;
  }
  EXPECT_TRUE(started.Await([](const MetricPage& page) {
    return page.Value("podgpu_cluster_discovery_up") == 1;
  })) << started.process().output();
  if (started.HasMetrics()) {
    std::string status;
    EXPECT_TRUE(started.Await([&](const MetricPage&) {
      status = started.StatusOfMetrics();
      return status == "404";  // Nothing is known of that namespace.
    })) << status
        << started.process().output();
  }
  ExpectNoRefusal(launch, started);
}

// An init container ends with 0.
void CheckInit(const Launch& launch, const SimNode& node) {
  std::vector<std::string> words = {PODGPU_BINARY_DIR "/bin/podgpu"};
  words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
  words.push_back("--libnvidia-ml=" + node.library("libnvidia-ml.so.1"));
  std::vector<std::string> variables = node.variables();
  variables.insert(variables.end(), launch.variables.begin(), launch.variables.end());
  Child process(words, variables);
  EXPECT_EQ(process.Wait(), 0) << process.output();
}

TEST_F(RightsTest, EveryRenderedObjectPassesTheChecksOfACluster) {
  EXPECT_EQ(exit_code_, 0) << check_->output();
}

TEST_F(RightsTest, EveryCommandLineAsksForExactlyItsRights) {
  ASSERT_TRUE(node_->ready() && open_node_->ready()) << node_->output();
  int nodes = 0;
  int clusters = 0;
  int inits = 0;
  for (const Launch& launch : AllLaunches()) {
    SCOPED_TRACE(launch.file + ": " + launch.object);
    if (launch.Says("--validate")) {
      continue;  // The pod of "helm test"; deploycheck has run it.
    }
    if (launch.is_init) {
      CheckInit(launch, *node_);
      ++inits;
    } else if (launch.role == "cluster") {
      CheckCluster(launch, *node_);
      ++clusters;
    } else {
      const bool may_ask = std::ranges::any_of(launch.grants, IsOfKubelet);
      CheckNode(launch, may_ask ? *open_node_ : *node_);
      ++nodes;
    }
  }
  EXPECT_GE(nodes, 21) << "each set of values has a DaemonSet";
  EXPECT_GE(clusters, 9);
  EXPECT_GE(inits, 3);
}

}  // namespace
}  // namespace podgpu
