// Containers outside Kubernetes on the rows of a simulated node, from a socket that answers as
// Docker does.
#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "http/server.h"
#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

class ContainersNode : public FailureFixture {
 protected:
  ContainersNode() : FailureFixture(kThreeGpus) {}

  std::string socket() const { return files_.path() + "/docker.sock"; }
  void StartRuntime() {
    HttpServerOptions options;
    options.address = "unix:" + socket();
    StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(
        std::move(options), [this](const HttpRequest& request) { return Answer(request.path); });
    ASSERT_TRUE(server.ok()) << server.status();
    runtime_ = *std::move(server);
  }

  std::atomic<bool> has_web_ = false;
  std::unique_ptr<HttpServer> runtime_;

 private:
  // Container train has GPUs 0 and 2, which is in MIG mode; web has GPU 0.
  HttpResponse Answer(std::string_view path) const {
    constexpr char kDetails[] =
        R"({"HostConfig":{"Runtime":"runc","DeviceRequests":[{"Driver":"","Count":0,)"
        R"("DeviceIDs":[%s],"Capabilities":[["gpu"]]}]}})";
    if (path == "/containers/json") {
      return TextResponse(200, has_web_ ? R"([{"Id":"aa","Names":["/train"]},)"
                                          R"({"Id":"bb","Names":["/web"]}])"
                                        : R"([{"Id":"aa","Names":["/train"]}])");
    }
    return path == "/containers/aa/json" ? TextResponse(200, Filled(kDetails, R"("0","2")"))
                                         : TextResponse(200, Filled(kDetails, R"("0")"));
  }
  static std::string Filled(std::string text, std::string_view ids) {
    return text.replace(text.find("%s"), 2, ids);
  }
};

TEST_F(ContainersNode, NameThemselvesOnEachRowOfTheirDevices) {
  StartRuntime();
  ASSERT_TRUE(node_.ready()) << node_.output();
  exporter_.emplace(node_,
                    std::vector<std::string>{"-c=200", "--kubernetes=false", "--container-labels",
                                             "--container-runtime-socket=" + socket()});
  ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  constexpr char kPower[] = "DCGM_FI_DEV_POWER_USAGE";
  constexpr char kTrain[] = R"(container="train")";
  constexpr char kWeb[] = R"(container="web")";
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Has(kPower, {Gpu("0"), kTrain}) && page.Has(kPower, {Gpu("1")}) &&
           !page.Has(kPower, {Gpu("1"), kTrain}) &&
           page.Has(kPower, {Gpu("2"), R"(GPU_I_ID=)", kTrain}) &&
           page.Value("podgpu_runtime_containers") == 1;
  })) << Page().text();
  has_web_ = true;
  EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Has(kPower, {Gpu("0"), kTrain}) && page.Has(kPower, {Gpu("0"), kWeb});
  })) << Page().text();
  runtime_.reset();
  EXPECT_TRUE(exporter_->Await("/", "Containers: " + socket())) << exporter_->Get("/");
  EXPECT_NE(AwaitLog({"container runtime state changed", "state=degraded", socket(),
                      "start the runtime's API"}),
            "");
  EXPECT_TRUE(Page().Has(kPower, {Gpu("0"), kWeb})) << "the last list stays";
  StartRuntime();
  EXPECT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Value("podgpu_runtime_container_failures_total") >= 1 &&
           page.Value("podgpu_ready") == 1;
  }));
  EXPECT_NE(AwaitLog({"container runtime state changed", "state=ok", "2 running containers"}), "");
}

}  // namespace
}  // namespace podgpu
