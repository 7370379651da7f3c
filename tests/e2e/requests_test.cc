// The GPU requests of containers beside their use, on a real node with gpu-manager's pods; the API
// server is in this process.
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "sim/kube/api_server.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// Two pods have parts of GPU 0, which the kubelet does not know; a third has GPU 1 alone.
constexpr char kVcudaNode[] = R"(format: 1
name: vcuda
seed: 3
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 2}}
  - {class: h100-sxm5-80gb}
pods:
  - name: half
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 41, load: {sm: 30%}, memory: 2GiB}]}
  - name: rest
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 42, load: {sm: 50%}, memory: 3GiB}]}
  - name: whole
    namespace: ml
    containers:
      - {name: main, gpus: [1], processes: [{pid: 43, load: {sm: 70%}, memory: 4GiB}]}
)";

constexpr char kMemoryUsed[] = "container_gpu_memory_total";
constexpr char kBusy[] = "container_gpu_utilization";
constexpr char kMemoryAsked[] = "container_request_gpu_memory";
constexpr char kCardsAsked[] = "container_request_gpu_utilization";

std::string Pod(const std::string& name) { return "pod_name=\"" + name + '"'; }

class RequestsNode : public FailureFixture {
 protected:
  RequestsNode() : FailureFixture(kVcudaNode) {}

  // The runtime's id of the container of a process.
  std::string ContainerOf(int pid) const {
    std::ifstream file(node_.directory() + "/proc/" + std::to_string(pid) + "/cgroup");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string id;
    EXPECT_TRUE(RE2::PartialMatch(text, "([0-9a-f]{64})", &id)) << text;
    return id;
  }
  void PutPod(const std::string& name, int pid, const std::string& requests,
              const std::string& annotations = "{}") {
    server_.Put(sim::kPodsPath, "ml/" + name,
                R"("namespace":"ml","name":")" + name + R"(","uid":")" + name +
                    R"(","annotations":)" + annotations,
                R"(,"spec":{"containers":[{"name":"main","resources":{"requests":{)" + requests +
                    R"(}}}]},"status":{"phase":"Running","containerStatuses":[{"name":"main",)" +
                    R"("containerID":"containerd://)" + ContainerOf(pid) + "\"}]}");
  }
  void Start(std::vector<std::string> flags) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    ASSERT_TRUE(server_.WriteCredentials(credentials_.path()));
    flags.insert(flags.end(), {"-c=200", kWholePage, "--process-interval=200ms",
                               "--proc-root=" + node_.directory() + "/proc",
                               "--service-account-dir=" + credentials_.path()});
    exporter_.emplace(
        node_, flags,
        std::vector<std::string>{"KUBERNETES_SERVICE_HOST=127.0.0.1",
                                 "KUBERNETES_SERVICE_PORT=" + std::to_string(server_.port())});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
  bool AwaitUse(const std::function<bool(const MetricPage&)>& holds) const {
    return exporter_->AwaitPage("/metric",
                                [&](const std::string& text) { return holds(MetricPage(text)); });
  }
  MetricPage Use() const { return MetricPage(exporter_->Get("/metric")); }

  sim::FakeApi server_;
  const TemporaryFolder credentials_;
};

TEST_F(RequestsNode, ReportsPartsOfACardThatGpuManagerAssigned) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  const std::string first = R"({"tencent.com/predicate-gpu-idx-0":"0"})";
  PutPod("half", 41, R"("tencent.com/vcuda-core":"50","tencent.com/vcuda-memory":"30")", first);
  PutPod("rest", 42, R"("tencent.com/vcuda-core":"20","tencent.com/vcuda-memory":"8")", first);
  PutPod("whole", 43, R"("tencent.com/vcuda-core":"100")",
         R"({"tencent.com/predicate-gpu-idx-0":"1"})");
  Start({"--requested-vs-used=on"});
  ASSERT_TRUE(AwaitUse([](const MetricPage& page) {
    return page.Value(kBusy, {Pod("half"), R"(gpu="total")"}) == 30 &&
           page.Value(kBusy, {Pod("rest"), R"(gpu="total")"}) == 50 &&
           page.Value(kBusy, {Pod("whole"), R"(gpu="gpu1")"}) == 70;
  })) << exporter_->Get("/metric")
      << exporter_->Get("/");
  const MetricPage page = Use();
  EXPECT_EQ(page.Value(kMemoryUsed, {Pod("half"), R"(gpu_memory="gpu0")"}), 2'048);
  EXPECT_EQ(page.Value(kMemoryUsed, {Pod("rest"), R"(gpu_memory="total")"}), 3'072);
  EXPECT_EQ(page.Value(kMemoryAsked, {Pod("half"), R"(node="gpu-node-0")"}), 7'680);
  EXPECT_EQ(page.Value(kCardsAsked, {Pod("half"), R"(container_name="main")"}), 0.5);
  EXPECT_EQ(page.Value(kCardsAsked, {Pod("whole"), R"(req_of_gpu="total")"}), 1);
  EXPECT_EQ(
      page.Value(kMemoryAsked, {Pod("whole")}),
      Page().Value("podgpu_gpu_memory_total_bytes", {Gpu("1"), R"(scope="device")"}).value_or(0) /
          (1 << 20));
  EXPECT_EQ(Page().text().find("my_gpu_process_"), std::string::npos)
      << "process families were not requested";
}

TEST_F(RequestsNode, WithoutTheRightToListPodsItReportsKnownValuesAndTheReason) {
  server_.Refuse(1'000'000, 403);
  Start({"--query-port=0"});
  const std::optional<std::string> line = exporter_->process().AwaitLine("query_port=");
  ASSERT_TRUE(line.has_value()) << exporter_->process().output();
  ASSERT_TRUE(AwaitUse([](const MetricPage& page) {
    return page.Value(kBusy, {Pod("whole"), R"(gpu="gpu1")"}) == 70;
  })) << exporter_->Get("/metric");
  EXPECT_EQ(Use().Value(kMemoryUsed, {Pod("whole"), R"(gpu_memory="total")"}), 4'096);
  EXPECT_FALSE(Use().Has(kMemoryUsed, {Pod("half")})) << "two share GPU 0";
  EXPECT_EQ(Use().text().find("container_request"), std::string::npos);
  EXPECT_TRUE(exporter_->Await("/", "403")) << exporter_->Get("/");
  EXPECT_EQ(Page().Value("podgpu_api_server_up", {R"(collection="pods")"}), 0);
  uint16_t port = 0;
  ASSERT_TRUE(RE2::PartialMatch(*line, "query_port=\"?([0-9]+)", &port)) << *line;
  EXPECT_TRUE(MetricPage(LoopbackClient(port).Fetch("/metric").body).Has(kBusy, {Pod("whole")}));
  EXPECT_EQ(LoopbackClient(port).Fetch("/metrics").status, 404);
}

}  // namespace
}  // namespace podgpu
