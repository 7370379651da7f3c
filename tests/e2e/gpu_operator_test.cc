// The exact settings of the GPU Operator's DaemonSet for dcgm-exporter, with podgpu in the image.
//
// In its pod the program runs in a root directory with only the libraries, the counter lists at
// their place in the image and the kubelet's directory: no shell, no token, no host PIDs,
// read-only.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/child.h"
#include "tests/e2e/metric_page.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr std::string_view kBinaries = PODGPU_BINARY_DIR "/bin/";
constexpr int kNoNamespaces = 77;  // The exit code of in_pod.

// The environment of the DaemonSet; the image sets no arguments.
const std::vector<std::string> kOperatorVariables = {
    "DCGM_EXPORTER_LISTEN=:9400",
    "DCGM_EXPORTER_KUBERNETES=true",
    "NODE_NAME=gpu-node-0",
};
constexpr std::string_view kLists = "/etc/dcgm-exporter/";

// Whether the program runs in its own namespaces or directly on this machine; the second way works
// also where the kernel does not allow namespaces.
enum class Where { kInAPod, kOnTheMachine };

class GpuOperator : public ::testing::TestWithParam<Where> {
 protected:
  GpuOperator() : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal) {
    namespace fs = std::filesystem;
    for (const auto& list : fs::directory_iterator("deploy")) {
      if (list.path().extension() == ".csv") {
        fs::copy(list.path(), lists_.path());
      }
    }
  }

  void Start(const std::vector<std::string>& more_variables) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    if (GetParam() == Where::kOnTheMachine || !StartPod(more_variables)) {
      StartOnTheMachine(more_variables);
    }
  }

  // Requests a path as Prometheus and the kubelet do; in a pod from port 9400.
  std::string Get(const std::string& path) const {
    std::vector<std::string> words;
    if (!pid_.empty()) {
      words = {"nsenter", "--target", pid_, "--user", "--net", "--preserve-credentials"};
    }
    words.insert(words.end(),
                 {"curl", "-s", "--max-time", "30", "http://127.0.0.1:" + port_ + path});
    Child curl(words);
    curl.Wait();
    return curl.output();
  }

  // The first page with an owner of the first GPU.
  MetricPage AwaitMetrics() const {
    constexpr int kMostFetches = 2'000;  // Far more than any machine needs.
    for (int i = 0; i < kMostFetches && pod_->IsRunning(); ++i) {
      MetricPage page(Get("/metrics"));
      if (page.Has("DCGM_FI_DEV_GPU_TEMP", {"gpu=\"0\"", "pod="})) {
        return page;
      }
    }
    ADD_FAILURE() << "no page with an owner: " << pod_->output();
    return MetricPage("");
  }

  const TemporaryFolder lists_;  // The lists of metrics, as in the image.
  std::string list_ = "dcp-metrics-included.csv";
  TemporaryFolder root_;
  SimNode node_;
  std::optional<Child> pod_;

 private:
  // Runs the program with only `variables` in its environment; the driver's libraries are at the
  // place where the container runtime mounts them.
  std::vector<std::string> With(const std::vector<std::string>& variables) const {
    std::vector<std::string> words = {"env", "-i"};
    words.insert(words.end(), kOperatorVariables.begin(), kOperatorVariables.end());
    words.insert(words.end(), variables.begin(), variables.end());
    words.push_back("LD_LIBRARY_PATH=" + node_.directory() + "/lib");
    words.push_back("PODGPU_SIM_DIR=" + node_.directory());
    return words;
  }

  // False where the kernel does not allow namespaces.
  bool StartPod(const std::vector<std::string>& more_variables) {
    namespace fs = std::filesystem;
    fs::create_directories(root_.path() + "/usr");
    fs::create_symlink("usr/lib", root_.path() + "/lib");
    fs::create_symlink("usr/lib64", root_.path() + "/lib64");
    std::vector<std::string> variables = more_variables;
    variables.push_back("DCGM_EXPORTER_COLLECTORS=" + std::string(kLists) + list_);
    std::vector<std::string> words = With(variables);
    const std::string built = fs::absolute(PODGPU_BINARY_DIR).string();
    words.insert(words.end(),
                 {std::string(kBinaries) + "in_pod", root_.path(), "/usr/lib=/usr/lib",
                  "/usr/lib64=/usr/lib64", std::string(kBinaries) + "podgpu=/usr/bin/dcgm-exporter",
                  lists_.path() + "=" + std::string(kLists),
                  fs::path(node_.kubelet_socket()).parent_path().string() +
                      "=/var/lib/kubelet/pod-resources",
                  built + "=" + built,  // The target of the links in lib/.
                  node_.directory() + "=" + node_.directory(), "--", "/usr/bin/dcgm-exporter"});
    pod_.emplace(words);
    const std::optional<std::string> line = pod_->AwaitLine("pod ");
    if (!line && pod_->Wait() == kNoNamespaces) {
      return false;
    }
    EXPECT_TRUE(line.has_value()) << pod_->output();
    pid_ = line ? std::string(Trim(*line)).substr(4) : "";
    EXPECT_TRUE(pod_->AwaitLine("msg=\"serving\"").has_value()) << pod_->output();
    return true;
  }

  // Only the paths of the image and its port are this machine's own; all else is the operator's.
  void StartOnTheMachine(const std::vector<std::string>& more_variables) {
    std::vector<std::string> variables = more_variables;
    variables.insert(variables.end(),
                     {"DCGM_EXPORTER_LISTEN=127.0.0.1:0",
                      "DCGM_EXPORTER_COLLECTORS=" + lists_.path() + "/" + list_,
                      "DCGM_POD_RESOURCES_KUBELET_SOCKET=" + node_.kubelet_socket()});
    const std::string program = root_.path() + "/dcgm-exporter";
    std::filesystem::create_symlink(std::filesystem::absolute(PODGPU_BINARY_DIR "/bin/podgpu"),
                                    program);
    std::vector<std::string> words = With(variables);
    words.push_back(program);
    pod_.emplace(words);
    const std::optional<std::string> line = pod_->AwaitLine("msg=\"serving\"");
    ASSERT_TRUE(line.has_value()) << pod_->output();
    const size_t port = line->find("port=") + 5;
    port_ = line->substr(port, line->find_first_not_of("0123456789", port) - port);
  }

  std::string pid_;  // Of the program in its pod; empty without a pod.
  std::string port_ = "9400";
};

INSTANTIATE_TEST_SUITE_P(Places, GpuOperator,
                         ::testing::Values(Where::kInAPod, Where::kOnTheMachine),
                         [](const auto& where) {
                           return where.param == Where::kInAPod ? "InAPod" : "OnTheMachine";
                         });

TEST_P(GpuOperator, ServesLabelledPagesWithoutTokenHostPidOrShell) {
  Start({});
  ASSERT_FALSE(HasFatalFailure());
  const MetricPage page = AwaitMetrics();
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_GPU_TEMP", {"Hostname=\"gpu-node-0\""}).size(), 11U)
      << pod_->output();
  // The node above has 8 GPUs and 3 MIG instances.
  const std::vector<std::string_view> owned =
      page.Lines("DCGM_FI_DEV_GPU_TEMP", {"gpu=\"0\"", "namespace=", "pod=", "container="});
  EXPECT_EQ(owned.size(), 1U) << page.text().substr(0, 4'000);
  EXPECT_EQ(Get("/health"), "OK");
  EXPECT_EQ(pod_->output().find("panic"), std::string::npos);
  EXPECT_EQ(pod_->output().find("level=ERROR"), std::string::npos) << pod_->output();
}

// The operator of 2026 requests labels and uids of pods, and claims where they replace the device
// plugin, but may still not mount the token.
TEST_P(GpuOperator, RunsWithoutTheTokenThatPodLabelsAndClaimsNeed) {
  Start({"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS=true",
         "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID=true",
         "DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX=^app$,^team",
         "DCGM_HPC_JOB_MAPPING_DIR=/var/lib/dcgm-exporter/job-mapping",
         "DCGM_EXPORTER_CONFIGMAP_DATA=none", "KUBERNETES_ENABLE_DRA=true"});
  ASSERT_FALSE(HasFatalFailure());
  const MetricPage page = AwaitMetrics();
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_GPU_TEMP", {"gpu=\"0\"", "pod="}).size(), 1U);
  for (const char* const collection : {R"(collection="pods")", R"(collection="resourceslices")"}) {
    EXPECT_EQ(page.Value("podgpu_api_server_up", {collection}), 0) << collection;
  }
  EXPECT_EQ(Get("/health"), "OK");
}

// For the cluster's own metrics, a key of a ConfigMap is mounted beside the lists of the image.
TEST_P(GpuOperator, UsesTheListOfTheClustersOwnMetrics) {
  list_ = "dcgm-metrics.csv";
  lists_.Write(list_, "DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_FB_USED, gauge, u\n");
  Start({});
  ASSERT_FALSE(HasFatalFailure());
  const MetricPage page = AwaitMetrics();
  EXPECT_TRUE(page.Has("DCGM_FI_DEV_FB_USED"));
  EXPECT_FALSE(page.Has("DCGM_FI_DEV_SM_CLOCK"));
}

// The operator's engine is a service, which may start later than its clients.
TEST_P(GpuOperator, WaitsForTheEngineThatTheOperatorNames) {
  Start({"DCGM_REMOTE_HOSTENGINE_INFO=nvidia-dcgm:5555"});
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_TRUE(pod_->AwaitLine("state=waiting").has_value()) << pod_->output();
  EXPECT_NE(Get("/").find("nvidia-dcgm:5555"), std::string::npos) << Get("/");
  EXPECT_TRUE(pod_->IsRunning()) << pod_->output();
  EXPECT_EQ(Get("/health"), "OK");
  EXPECT_TRUE(MetricPage(Get("/metrics")).Has("podgpu_build_info"));
}

}  // namespace
}  // namespace podgpu
