// The processes of a real node: the pod of each, and energy that adds up.
#include <cmath>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/failure_fixture.h"

namespace podgpu {
namespace {

// Four pods share GPU 0 by time; GPU 1 has one pod and one process outside pods; a pod of two
// containers has the other GPUs.
constexpr char kSharers[] = R"(format: 1
name: sharers
seed: 6
gpus:
  - {class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 4}}
  - {count: 3, class: h100-sxm5-80gb}
pods:
  - name: duo
    namespace: ml
    containers:
      - {name: left, gpus: [2], processes: [{pid: 61, load: {sm: 50%}, memory: 1GiB}]}
      - {name: right, gpus: [3], processes: [{pid: 62, load: {sm: 50%}, memory: 1GiB}]}
  - name: a
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::0"], processes: [{pid: 51, load: {sm: 10%}, memory: 1GiB}]}
  - name: b
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::1"], processes: [{pid: 52, load: {sm: 15%}, memory: 2GiB}]}
  - name: c
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::2"], processes: [{pid: 53, load: {sm: 20%}, memory: 3GiB}]}
  - name: d
    namespace: ml
    containers:
      - {name: main, devices: ["gpu0::3"], processes: [{pid: 54, load: {sm: 25%}, memory: 4GiB}]}
  - name: alone
    namespace: ml
    containers:
      - {name: main, gpus: [1], processes: [{pid: 55, load: {sm: 50%}, memory: 1GiB}]}
orphans:
  - {pid: 999, gpu: 1, load: {sm: 50%}, memory: 1GiB}
)";

// A job that ends before most readings: it runs for two seconds, so few process lists contain it.
constexpr char kFlashes[] = R"(format: 1
name: flashes
seed: 7
gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [3g.40gb]}
loads:
  flash: {phases: [{for: 100ms, sm: 80%, mem: 40%}]}
churn:
  - {template: flash, namespace: b, every: 500ms, life: 100ms, gpus: [0], load: flash, memory: 2GiB}
)";

constexpr char kEnergy[] = "my_gpu_process_energy_joules_total";
constexpr char kOfPods[] = "podgpu_pod_gpu_energy_joules_total";
constexpr char kOfProcesses[] = "podgpu_process_energy_joules_total";
constexpr char kByMethod[] = "podgpu_gpu_energy_by_method_joules_total";

std::string OfMethod(const std::string& method) { return "method=\"" + method + '"'; }

class Processes : public FailureFixture {
 protected:
  explicit Processes(std::string_view scenario = kSharers)
      : FailureFixture(scenario, {"--api-server"}) {}

  void Start(const std::string& source, const std::vector<std::string>& more_flags = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    std::vector<std::string> flags = {"-c=200", "--source=" + source, "--process-metrics=on",
                                      "--process-interval=200ms",
                                      "--proc-root=" + node_.directory() + "/proc"};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    exporter_.emplace(node_, flags, node_.LinesOf("api/env"));
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  // Like a DaemonSet without the API server's variables.
  void StartWithoutApiServer() {
    ASSERT_TRUE(node_.ready()) << node_.output();
    exporter_.emplace(node_,
                      std::vector<std::string>{"-c=200", "--source=nvml", "--process-metrics=on",
                                               "--process-interval=200ms",
                                               "--proc-root=" + node_.directory() + "/proc"});
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }

  // Waits until all processes have the names of their pods, and one joule has been charged.
  bool AwaitShares() const {
    return AwaitPage([](const MetricPage& page) {
      std::set<std::string> pods;
      for (const std::string_view line : page.Lines(kEnergy)) {
        pods.insert(MetricPage::Label(line, "pod"));
      }
      return pods == std::set<std::string>{"a", "b", "c", "d", "alone", "duo"} &&
             page.Sum(kByMethod, {Gpu("0"), OfMethod("sm_share")}) > 100 &&
             page.Sum(kByMethod, {Gpu("1"), OfMethod("outside_kubernetes")}) > 100;
    });
  }

  // The first page on which both GPUs have used `joules` more than on `page`.  What happened before
  // `page` depends on when the first list of processes arrived.
  MetricPage PageAfterJoules(const MetricPage& page, double joules) {
    std::optional<MetricPage> later;
    EXPECT_TRUE(AwaitPage([&](const MetricPage& now) {
      later = now;
      return Growth(page, now, kByMethod, {Gpu("0")}) > joules &&
             Growth(page, now, kByMethod, {Gpu("1")}) > joules;
    }));
    return *later;
  }

  // The growth of a sum of rows from one page to a later one.
  static double Growth(const MetricPage& page, const MetricPage& later, const char* family,
                       const std::vector<std::string>& labels) {
    return later.Sum(family, labels) - page.Sum(family, labels);
  }

  void ExpectThatItAddsUp(const MetricPage& page) const {
    for (const char* gpu : {"0", "1"}) {
      const double of_processes = page.Sum(kEnergy, {Gpu(gpu)});
      const double of_others = page.Sum(kByMethod, {Gpu(gpu), OfMethod("unattributed")}) +
                               page.Sum(kByMethod, {Gpu(gpu), OfMethod("outside_kubernetes")});
      EXPECT_NEAR(of_processes + of_others, page.Sum(kByMethod, {Gpu(gpu)}), 1e-6) << gpu;
      EXPECT_NEAR(page.Sum(kOfPods, {Gpu(gpu)}), of_processes, 1e-6) << gpu;
      EXPECT_NEAR(page.Sum(kOfProcesses, {Gpu(gpu)}), of_processes, 1e-6) << gpu;
    }
  }
};

TEST_F(Processes, ProcessesOnASharedGpuDifferAndAddUpToTheGpu) {
  for (const char* source : {"nvml", "dcgm"}) {
    Start(source);
    ASSERT_TRUE(AwaitShares()) << source << ": " << exporter_->Get("/") << Page().text();
    const MetricPage page = Page();
    ExpectThatItAddsUp(page);
    EXPECT_TRUE(exporter_->Await("/api/v1/node", "\"processes\":4"))
        << "the cluster role reads this number";
    const MetricPage later = PageAfterJoules(page, 200);
    double before = 0;
    for (const char* pid : {"51", "52", "53", "54"}) {
      const std::vector<std::string> row = {Gpu("0"), "pid=\"" + std::string(pid) + '"',
                                            "container=\"main\"", "namespace=\"ml\""};
      const double energy = Growth(page, later, kEnergy, row);
      EXPECT_GT(energy, before) << pid << ": a busier process is charged more";
      before = energy;
      EXPECT_EQ(page.Value("my_gpu_process_active", row), 1);
      EXPECT_NEAR(Growth(page, later, kOfProcesses, {row[0], row[1], OfMethod("sm_share")}), energy,
                  1e-6)
          << "all of it is apportioned";
      EXPECT_EQ(page.Value("my_gpu_process_energy_joules", row), page.Value(kEnergy, row));
    }
    EXPECT_EQ(page.Sum("my_gpu_process_memory_used_bytes", {Gpu("0")}), std::ldexp(10, 30));
    EXPECT_TRUE(page.Has(kEnergy, {"pid=\"61\"", "pod=\"duo\"", "container=\"left\""}));
    EXPECT_TRUE(page.Has(kEnergy, {"pid=\"62\"", "pod=\"duo\"", "container=\"right\""}));
    EXPECT_FALSE(page.Has(kEnergy, {"pid=\"999\""})) << "the process is outside containers";
    const double drawn = Growth(page, later, kByMethod, {Gpu("1")});
    EXPECT_NEAR(Growth(page, later, kByMethod, {Gpu("1"), OfMethod("outside_kubernetes")}) / drawn,
                0.5, 0.1);
  }
}

// The kubelet's answer is enough for single owners.
TEST_F(Processes, WithoutAnApiServerOnlySingleOwnersAreNamedAndThePageReportsIt) {
  StartWithoutApiServer();
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Has(kEnergy,
                    {"pid=\"55\"", "namespace=\"ml\"", "pod=\"alone\"", "container=\"main\""}) &&
           page.Has(kEnergy, {"pid=\"61\"", "pod=\"duo\"", "container=\"left\""}) &&
           page.Has(kEnergy, {"pid=\"62\"", "pod=\"duo\"", "container=\"right\""}) &&
           page.Sum(kOfPods, {Gpu("1"), "pod=\"alone\""}) > 10;
  })) << exporter_->Get("/")
      << Page().text();
  const MetricPage page = Page();
  EXPECT_TRUE(page.Has("podgpu_pod_gpu_active_seconds_total", {Gpu("2"), "pod=\"duo\""}));
  EXPECT_TRUE(page.Has(kEnergy, {"pid=\"51\"", "pod=\"\""}))
      << "four pods share its GPU, so its pod is unknown";
  EXPECT_FALSE(page.Has(kEnergy, {"pid=\"999\""})) << "the process belongs to the host";
  EXPECT_GT(page.Sum(kByMethod, {Gpu("1"), OfMethod("outside_kubernetes")}), 0);
  EXPECT_EQ(page.Value("podgpu_config_warnings"), 1);
  EXPECT_TRUE(exporter_->Get("/readyz").starts_with("ready")) << exporter_->Get("/readyz");
  for (const char* path : {"/", "/explain?gpu=0"}) {
    EXPECT_TRUE(exporter_->Await(path, "4 processes have no namespace, pod and container"))
        << exporter_->Get(path);
    EXPECT_TRUE(
        exporter_->Await(path, "Names need NODE_NAME and the right to list and watch pods, or "))
        << exporter_->Get(path);
  }
  ASSERT_TRUE(exporter_->process().AwaitLine("processes of pods have no names").has_value());
}

TEST_F(Processes, TwoScrapesAtOnceAreEqual) {
  Start("nvml");
  ASSERT_TRUE(AwaitShares()) << exporter_->Get("/") << Page().text();
  const auto tick_of = [](const std::string& page) {
    return MetricPage(page).Value("podgpu_ticks_total");
  };
  // Repeats until both scrapes came between two ticks, which are 200 ms apart.
  std::string first;
  std::string second;
  do {
    std::thread other([&] { second = exporter_->Get("/metrics"); });
    first = exporter_->Get("/metrics");
    other.join();
    ASSERT_FALSE(first.empty() || second.empty());
  } while (tick_of(first) != tick_of(second));
  EXPECT_EQ(first, second);
  EXPECT_TRUE(MetricPage(first).Has(kEnergy));
}

TEST_F(Processes, VirtualGpusHaveTheUseOfTheirPod) {
  Start("dcgm", {"--kubernetes-virtual-gpus"});
  const auto of = [](const char* pod) {
    return std::vector<std::string>{Gpu("0"), "pod=\"" + std::string(pod) + '"'};
  };
  ASSERT_TRUE(AwaitPage([&](const MetricPage& page) {
    return page.Value("DCGM_FI_DEV_GPU_UTIL", of("a")) == 10 &&
           page.Value("DCGM_FI_DEV_GPU_UTIL", of("d")) == 25;
  })) << Page().text();
  const MetricPage page = Page();
  EXPECT_EQ(page.Value("DCGM_FI_DEV_FB_USED", of("b")), 2'048);
  EXPECT_EQ(page.Value("DCGM_FI_DEV_FB_USED", of("d")), 4'096);
  EXPECT_EQ(page.Lines("DCGM_FI_DEV_GPU_UTIL", {Gpu("0")}).size(), 5U)
      << "four rows of pods and the device's row";
}

// An A100 with MIG, whose driver has no GPM: one busy and one idle instance.
constexpr char kPartedA100[] = R"(format: 1
name: parted
seed: 8
dcgm: {profiling: module}
gpus: [{class: a100-sxm4-80gb, mig: [3g.40gb, 3g.40gb]}]
pods:
  - name: busy
    namespace: ml
    containers:
      - {name: main, devices: [gpu0/mig0], processes: [{pid: 71, load: {sm: 90%}, memory: 1GiB}]}
  - name: calm
    namespace: ml
    containers:
      - {name: main, devices: [gpu0/mig1], processes: [{pid: 72, load: {sm: 10%}, memory: 1GiB}]}
)";

class PartedA100 : public Processes {
 protected:
  PartedA100() : Processes(kPartedA100) {}
  static double EnergyOf(const MetricPage& page, const char* pid, const std::string& method) {
    return page.Value(kOfProcesses, {"pid=\"" + std::string(pid) + '"', OfMethod(method)})
        .value_or(0);
  }
};

TEST_F(PartedA100, SharesByTheActivityFromDcgm) {
  Start("dcgm");
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return EnergyOf(page, "72", "mig_activity") > 5;
  })) << exporter_->Get("/")
      << Page().text();
  const MetricPage page = Page();
  EXPECT_NEAR(EnergyOf(page, "71", "mig_activity") / EnergyOf(page, "72", "mig_activity"), 9, 0.5);
}

// A process known only from accounting has a row without a container, if all processes have rows.
class ShortProcesses : public FailureFixture {
 protected:
  ShortProcesses() : FailureFixture(kFlashes) {}
  void Start(const std::vector<std::string>& flags) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    std::vector<std::string> all = {"-c=1000", "--source=nvml", "--process-metrics=on",
                                    "--proc-root=" + node_.directory() + "/proc"};
    all.insert(all.end(), flags.begin(), flags.end());
    exporter_.emplace(node_, all);
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
  }
};

constexpr char kAccounting[] = "podgpu_gpu_accounting_enabled";
constexpr char kShortLived[] = "podgpu_gpu_short_processes_total";

TEST_F(ShortProcesses, AreFoundByAccountingWhenItIsRequested) {
  Start({"--enable-accounting", "--process-scope=all"});
  ASSERT_TRUE(AwaitPage([](const MetricPage& page) {
    return page.Sum(kShortLived, {Gpu("0")}) >= 2 &&
           page.Has("my_gpu_process_active", {Gpu("0"), "process_name=\"\"", "} 0"});
  })) << exporter_->Get("/")
      << Page().text();
  const MetricPage page = Page();
  EXPECT_EQ(page.Value(kAccounting, {Gpu("0")}), 1);
  EXPECT_EQ(page.Value(kAccounting, {Gpu("1")}), 0) << "in MIG mode";
  EXPECT_FALSE(page.Has(kShortLived, {Gpu("1")}));
  std::string pid;  // One of the short processes.
  for (const std::string_view line :
       page.Lines("my_gpu_process_active", {Gpu("0"), "process_name=\"\"", "} 0"})) {
    pid = MetricPage::Label(line, "pid");
  }
  const std::vector<std::string> gone = {Gpu("0"), "pid=\"" + pid + '"', "container_id=\"\""};
  EXPECT_EQ(page.Value("my_gpu_process_active", gone), 0);
  EXPECT_EQ(page.Value("my_gpu_process_memory_used_bytes", gone), std::ldexp(2, 30));
  EXPECT_NEAR(page.Value("my_gpu_process_sm_utilization_ratio", gone).value_or(0), 0.8, 0.01);
  EXPECT_NE(exporter_->Get("/").find("accounting is on for 1"), std::string::npos);
}

// Like an init container.
TEST_F(ShortProcesses, TheDoctorTurnsAccountingOnAndReportsIt) {
  ASSERT_TRUE(node_.ready()) << node_.output();
  const std::vector<std::string> doctor = {ExporterProcess::Arguments(node_, {}).front(), "doctor",
                                           "--enable-accounting",
                                           "--libnvidia-ml=" + node_.library("libnvidia-ml.so.1")};
  Child healthy(doctor, node_.variables());
  EXPECT_EQ(healthy.Wait(), 0) << healthy.output();
  EXPECT_NE(healthy.output().find(": accounting is on now"), std::string::npos);
  EXPECT_NE(healthy.output().find("GPU 1 GPU-"), std::string::npos) << healthy.output();
  EXPECT_NE(healthy.output().find(": accounting stays off (NVML 3"), std::string::npos)
      << "in MIG mode: " << healthy.output();
  node_.Command({"fault", "no_permission", "gpu=0", "calls=nvmlDeviceSetAccountingMode"});
  std::string refused;
  int exit_code = 0;
  for (int i = 0; i < 1'000 && exit_code == 0; ++i) {  // Repeats until accounting is on.
    Child again(doctor, node_.variables());
    exit_code = again.Wait();
    refused = again.output();
  }
  EXPECT_EQ(exit_code, 1) << refused;
  EXPECT_NE(refused.find("it needs root"), std::string::npos) << refused;
}

}  // namespace
}  // namespace podgpu
