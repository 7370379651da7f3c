// The images run as containers: in their own read-only root directory, without any capability, on a
// simulated node; and what each missing right costs (the table of docs/image.md).
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/text.h"
#include "sample/value.h"
#include "tests/e2e/metric_page.h"
#include "tests/e2e/page_text.h"
#include "tests/e2e/sim_node.h"
#include "tests/image/oci_image.h"

namespace podgpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInPod = PODGPU_BINARY_DIR "/bin/in_pod";
// Users as in_pod names them, and their ids.
constexpr const char* kRoot = "root";
constexpr const char* kOther = "other";
const std::string kDriverFolder = "/usr/lib/x86_64-linux-gnu/";

// One container.  A new one has the driver's library of the node, and nothing else of the machine.
class Container {
 public:
  Container(const SimNode& node, const std::string& image) : node_(node), image_(image) {
    Mount(node.directory(), node.directory());
    const std::string libraries = fs::absolute(PODGPU_BINARY_DIR "/lib").string();
    Mount(libraries, libraries);
    AddVariable("PODGPU_SIM_DIR=" + node.directory());
    fs::permissions(node.directory(), fs::perms(0755));  // Like /dev/nvidia0, for everybody.
  }

  void Mount(const std::string& source, const std::string& target) {
    mounts_.push_back(source + "=" + target);
  }
  void MountDriver() {
    Mount(node_.library("libnvidia-ml.so.1"), kDriverFolder + "libnvidia-ml.so.1");
  }
  void MountKubelet() { Mount(node_.directory() + "/kubelet", "/var/lib/kubelet/pod-resources"); }
  void AddVariable(const std::string& variable) { variables_.push_back(variable); }

  // Starts `command` as `user`; returns whether it serves.
  bool Start(const std::string& user, const std::vector<std::string>& command) {
    Run(user, command);
    const std::optional<std::string> pid = child_->AwaitLine("pod ");
    EXPECT_TRUE(pid.has_value()) << child_->output();
    pid_ = pid ? std::string(Trim(*pid)).substr(4) : "";
    return child_->AwaitLine("msg=\"serving\"").has_value();
  }
  // Runs `command` to its end; returns its exit code.
  int RunToEnd(const std::string& user, const std::vector<std::string>& command) {
    Run(user, command);
    return child_->Wait();
  }

  std::string Get(const std::string& path) const {
    Child curl({"nsenter", "--target", pid_, "--net", "curl", "-s", "--max-time", "30",
                "http://127.0.0.1:9400" + path});
    curl.Wait();
    return curl.output();
  }
  // Requests `path` until its text has `part`, at most for a time that is too long for any machine.
  std::string AwaitText(const std::string& path, std::string_view part) {
    constexpr int kMostFetches = 2'000;
    std::string text;
    for (int i = 0; i < kMostFetches && child_->IsRunning(); ++i) {
      text = Get(path);
      if (Unwrapped(text).find(part) != std::string::npos) {
        return text;
      }
    }
    child_->ReadAvailable();  // Why it ended, if it did.
    ADD_FAILURE() << "no " << part << " in\n" << text << child_->output();
    return text;
  }
  std::string output() const { return child_->output(); }
  // The state of the process as the kernel shows it.
  std::string Status() const {
    Child cat({"cat", "/proc/" + pid_ + "/status"});
    cat.Wait();
    return cat.output();
  }

 private:
  void Run(const std::string& user, const std::vector<std::string>& command) {
    std::vector<std::string> words = {"env", "-i"};
    words.insert(words.end(), variables_.begin(), variables_.end());
    words.insert(words.end(), {kInPod, "--user", user, image_.root()});
    words.insert(words.end(), mounts_.begin(), mounts_.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    child_.emplace(words);
  }

  const SimNode& node_;
  OciImage image_;
  std::vector<std::string> mounts_;
  std::vector<std::string> variables_;
  std::optional<Child> child_;
  std::string pid_;
};

class ImageRun : public ::testing::Test {
 protected:
  ImageRun() : node_(SimNode::Shipped("demo"), SimNode::Pace::kReal) {}
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0U) << "containers of other users need root";
    ASSERT_TRUE(node_.ready()) << node_.output();
  }

  SimNode node_;
};

constexpr std::string_view kOneTemperature = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"";

// The old command lines, with the image's name changed: the entry point, or a name that a manifest
// gives, and the arguments.
TEST_F(ImageRun, ServesEachOldCommandLineWithoutRights) {
  const std::string lists = "/etc/dcgm-exporter/";
  const std::vector<std::vector<std::string>> commands = {
      {"/usr/bin/podgpu"},
      {"/usr/bin/podgpu", "-f", lists + "dcp-metrics-included.csv"},
      {"/usr/bin/dcgm-exporter", "-f", lists + "default-counters.csv"},
      {"/usr/local/dcgm/dcgm-exporter-entrypoint.sh"},
      {"/usr/local/bin/my-gpu-exporter"},
      {"/usr/bin/pod-gpu-metrics-exporter", "-logtostderr"},
      {"/usr/bin/gpu-utilization-metric-exporter"},
      {"/usr/bin/pod-gpu-exporter"},
  };
  for (const auto& command : commands) {
    for (const char* user : {kRoot, kOther}) {
      Container container(node_, "podgpu");
      container.MountDriver();
      ASSERT_TRUE(container.Start(user, command)) << command[0] << ": " << container.output();
      container.AwaitText("/metrics", kOneTemperature);
      EXPECT_EQ(container.Get("/health"), "OK") << command[0];
      EXPECT_NE(container.Status().find("\nCapEff:\t0000000000000000\n"), std::string::npos)
          << container.Status();
      EXPECT_NE(
          container.Status().find("\nUid:\t" + std::string(user == kRoot ? "0" : "65532") + "\t"),
          std::string::npos);
    }
  }
}

TEST_F(ImageRun, ServesTheNamesOfTheOldListWithItsFile) {
  Container container(node_, "podgpu");
  container.MountDriver();
  ASSERT_TRUE(container.Start(
      kOther, {"/usr/bin/dcgm-exporter", "-f", "/etc/dcgm-exporter/1.x-compatibility-metrics.csv"}))
      << container.output();
  container.AwaitText("/metrics", "dcgm_gpu_temp{gpu=\"0\"");
}

// `docker run --pid=host IMAGE -r localhost:5555`: DCGM comes from another container.
TEST_F(ImageRun, NamesTheEngineThatItWaitsFor) {
  Container container(node_, "podgpu-dcgm");
  ASSERT_TRUE(container.Start(kOther, {"/usr/bin/podgpu", "-r", "localhost:5555"}))
      << container.output();
  container.AwaitText("/", "localhost:5555");
}

TEST_F(ImageRun, TheImageWithDcgmFindsIt) {
  Container container(node_, "podgpu-dcgm");
  ASSERT_TRUE(container.Start(kOther, {"/usr/bin/podgpu", "--source=dcgm"})) << container.output();
  container.AwaitText("/metrics", kOneTemperature);
  EXPECT_NE(container.Get("/").find("dcgm 4.6.0, embedded engine"), std::string::npos)
      << container.Get("/");
}

TEST_F(ImageRun, HasNoOtherProgram) {
  for (const char* program : {"/bin/sh", "/usr/bin/sh", "/usr/bin/apt", "/usr/bin/dpkg"}) {
    Container container(node_, "podgpu");
    EXPECT_NE(container.RunToEnd(kRoot, {program}), 0) << program;
    EXPECT_NE(container.output().find("exec: No such file or directory"), std::string::npos)
        << container.output();
  }
}

// -- the table of docs/image.md: a feature without its right

TEST_F(ImageRun, WithoutTheDriverItWaitsAndNamesTheLibrary) {
  Container container(node_, "podgpu");
  ASSERT_TRUE(
      container.Start(kOther, {"/usr/bin/podgpu", "--source=nvml", "--sysfs-root=/nowhere"}))
      << container.output();
  container.AwaitText("/", "libnvidia-ml.so.1");
  EXPECT_EQ(container.Get("/health"), "OK");
}

TEST_F(ImageRun, WithoutTheKubeletsFolderPodLabelsAreMissingWithTheReason) {
  Container container(node_, "podgpu");
  container.MountDriver();
  ASSERT_TRUE(container.Start(kRoot, {"/usr/bin/podgpu", "-k"})) << container.output();
  container.AwaitText("/", "kubelet.sock does not exist. Mount the directory, not the file");
  container.AwaitText("/metrics", kOneTemperature);
}

TEST_F(ImageRun, PodLabelsNeedTheUserOfTheKubeletsSocketAndNoCapability) {
  fs::permissions(node_.kubelet_socket(), fs::perms(0755));  // As a kubelet makes it.
  Container other(node_, "podgpu");
  other.MountDriver();
  other.MountKubelet();
  ASSERT_TRUE(other.Start(kOther, {"/usr/bin/podgpu", "-k"})) << other.output();
  other.AwaitText("/", "kubelet.sock may not be opened by uid 65532. Run as root");
  Container root(node_, "podgpu");
  root.MountDriver();
  root.MountKubelet();
  ASSERT_TRUE(root.Start(kRoot, {"/usr/bin/podgpu", "-k"})) << root.output();
  root.AwaitText("/metrics", "pod=\"");
}

TEST_F(ImageRun, LabelsOfPodsNeedTheServiceAccount) {
  Container container(node_, "podgpu");
  container.MountDriver();
  container.MountKubelet();
  ASSERT_TRUE(container.Start(kRoot, {"/usr/bin/podgpu", "-k", "--kubernetes-enable-pod-labels"}))
      << container.output();
  container.AwaitText("/metrics", "podgpu_api_server_up{collection=\"pods\"} 0");
  container.AwaitText("/metrics", kOneTemperature);
}

TEST_F(ImageRun, ProcessesNeedTheHostsPids) {
  Container container(node_, "podgpu");
  container.MountDriver();
  ASSERT_TRUE(container.Start(kRoot, {"/usr/bin/podgpu", "--process-metrics=on"}))
      << container.output();
  container.AwaitText("/", "no /proc is mounted there");
  container.AwaitText("/metrics", kOneTemperature);
}

TEST_F(ImageRun, FilesNeedAFolderThatThisUserOwns) {
  Container container(node_, "podgpu");
  container.MountDriver();
  ASSERT_TRUE(container.Start(
      kOther, {"/usr/bin/podgpu", "-c", "1000", "--textfile-device=/textfile/gpu.prom"}))
      << container.output();
  container.AwaitText("/", "/textfile: cannot be opened: No such file or directory");
  container.AwaitText("/metrics", kOneTemperature);
}

// Runs `command` until it ends with `exit_code`, because a command to the node takes effect a
// moment later; returns the output of the last run.
std::string OutputOnce(int exit_code, const SimNode& node,
                       const std::vector<std::string>& command) {
  constexpr int kMostRuns = 200;
  std::string output;
  for (int i = 0; i < kMostRuns; ++i) {
    Container container(node, "podgpu");
    container.MountDriver();
    const int code = container.RunToEnd(kOther, command);
    output = container.output();
    if (code == exit_code) {
      return output;
    }
  }
  ADD_FAILURE() << "never exit code " << exit_code << "; the last run printed\n" << output;
  return output;
}

TEST_F(ImageRun, AccountingIsSwitchedByTheDriverAlone) {
  const std::vector<std::string> command = {"/usr/bin/podgpu", "doctor", "--enable-accounting"};
  node_.Command({"fault", "no_permission", "calls=nvmlDeviceSetAccountingMode"});
  const std::string refused = OutputOnce(1, node_, command);
  EXPECT_NE(refused.find("refused (NVML 4: Insufficient Permissions): it needs root"),
            std::string::npos)
      << refused;
  node_.Command({"heal"});
  const std::string allowed = OutputOnce(0, node_, command);
  EXPECT_NE(allowed.find("accounting is on now"), std::string::npos) << allowed;
}

TEST_F(ImageRun, ProfilingThatTheDriverRefusesIsAbsentWithTheReason) {
  node_.Command({"fault", "no_permission", "fields=DCGM_FI_PROF_GR_ENGINE_ACTIVE"});
  Container container(node_, "podgpu-dcgm");
  ASSERT_TRUE(container.Start(kOther, {"/usr/bin/podgpu", "--source=dcgm", "-c", "1000", "-f",
                                       "/etc/dcgm-exporter/dcp-metrics-included.csv"}))
      << container.output();
  container.AwaitText("/metrics", kOneTemperature);
  container.AwaitText("/metrics", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"");
  container.AwaitText("/", std::string(AbsenceMeaning(Absence::kNotPermitted)));
  EXPECT_EQ(container.Get("/metrics").find("DCGM_FI_PROF_GR_ENGINE_ACTIVE{"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
