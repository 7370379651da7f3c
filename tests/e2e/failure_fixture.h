// A node of three GPUs with owners, and podgpu on it, for tests of failures.
//
// GPU 0 and GPU 1 have one owner each; GPU 2 is split into MIG instances, one of which is owned.
// The exporter reads every 200 ms and removes values older than 4 s, so a failure is soon on the
// page; a test waits for a page, never for a time.  One thread.
#pragma once

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/child.h"
#include "tests/e2e/metric_page.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {

inline constexpr char kThreeGpus[] = R"(format: 1
name: three
seed: 5
gpus:
  - {count: 2, class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 1g.10gb]}
loads: {train: {phases: [{for: 1s, sm: 60%, mem: 30%, tensor: 20%}]}}
pods:
  - name: train-0
    namespace: research
    containers: [{name: main, gpus: [0], processes: [{pid: 41, load: train, memory: 40GiB}]}]
  - name: train-1
    namespace: research
    containers: [{name: main, gpus: [1], processes: [{pid: 42, load: train, memory: 40GiB}]}]
  - {name: slice-0, namespace: vision, containers: [{name: main, devices: [gpu2/mig0]}]}
)";

inline constexpr char kWholePage[] = "--metrics-views=dcgm,native,self";
inline constexpr std::string_view kReady = "\npodgpu_ready 1\n";
inline constexpr std::string_view kNotReady = "\npodgpu_ready 0\n";
inline constexpr char kStateOk[] = R"(state="ok")";
inline constexpr char kStateLost[] = R"(state="lost")";
inline constexpr char kStateUnresponsive[] = R"(state="unresponsive")";

// The device series of the page; podgpu's own families and states of devices stay when values go.
inline const std::vector<std::string> kDeviceFamilies = {"DCGM_FI_", "podgpu_gpu_power",
                                                         "podgpu_gpu_temp", "podgpu_gpu_memory"};

class FailureFixture : public ::testing::Test {
 protected:
  explicit FailureFixture(std::string_view scenario, const std::vector<std::string>& run_flags = {})
      : node_(files_.Write("node.yaml", scenario), SimNode::Pace::kReal, run_flags) {}

  // After a failure, prints what podgpu wrote: its log, and a sanitizer's report when one ended it.
  void TearDown() override {
    if (HasFailure() && exporter_) {
      exporter_->process().ReadAvailable();
      ADD_FAILURE() << (exporter_->process().IsRunning() ? "podgpu runs" : "podgpu ended")
                    << "; its output:\n"
                    << exporter_->process().output();
    }
  }

  static std::string Gpu(std::string_view index) { return "gpu=\"" + std::string(index) + "\""; }

  // Starts podgpu and waits for the complete page: profiling values and owners come last.
  void StartExporter(std::vector<std::string> flags = {}) {
    ASSERT_TRUE(node_.ready()) << node_.output();
    flags.insert(flags.begin(), {"-c=200", "--stale-after=4s", kWholePage});
    exporter_.emplace(node_, flags);
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
    ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{")) << exporter_->Get("/");
    ASSERT_TRUE(exporter_->Await("/metrics", "\npodgpu_allocation_info{")) << exporter_->Get("/");
  }

  MetricPage Page() const { return MetricPage(exporter_->Get("/metrics")); }
  bool AwaitPage(const std::function<bool(const MetricPage&)>& holds) const {
    return exporter_->AwaitPage("/metrics",
                                [&](const std::string& text) { return holds(MetricPage(text)); });
  }
  // Waits for a log line with all `parts`, also among lines already read; "" when the program ends.
  std::string AwaitLog(const std::vector<std::string>& parts) {
    size_t begin = 0;
    while (true) {
      const std::string& log = exporter_->process().output();
      for (size_t end = log.find('\n', begin); end != std::string::npos;
           end = log.find('\n', begin)) {
        std::string line = log.substr(begin, end - begin);
        begin = end + 1;
        if (std::ranges::all_of(parts, [&](const std::string& part) {
              return line.find(part) != std::string::npos;
            })) {
          return line;
        }
      }
      if (!exporter_->process().AwaitLine("")) {
        return "";
      }
    }
  }
  // Ends the program and counts the lines of its log that have `part`.
  int64_t CountLog(std::string_view part) {
    if (exporter_->process().IsRunning()) {
      exporter_->process().Signal(SIGTERM);
    }
    EXPECT_EQ(exporter_->process().Wait(), 0) << exporter_->process().output();
    int64_t count = 0;
    const std::string& log = exporter_->process().output();
    for (size_t at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
  // Expects that /readyz is 503, or 200, with `verdict` in it, and that `/` and the metric agree.
  void ExpectReadiness(bool ready, std::string_view verdict) const {
    ASSERT_TRUE(exporter_->Await("/readyz", verdict)) << exporter_->Get("/readyz");
    EXPECT_EQ(exporter_->Fetch("/readyz").status, ready ? 200 : 503);
    EXPECT_NE(exporter_->Get("/").find(verdict), std::string::npos) << exporter_->Get("/");
    EXPECT_TRUE(AwaitPage([ready](const MetricPage& page) {
      return page.Value("podgpu_ready") == (ready ? 1 : 0);
    })) << Page().text();
  }
  std::set<std::string> DeviceSeries() const { return Page().Series(kDeviceFamilies); }
  bool AwaitDeviceSeries(const std::set<std::string>& wanted) const {
    return AwaitPage(
        [&](const MetricPage& page) { return page.Series(kDeviceFamilies) == wanted; });
  }

  const TemporaryFolder files_;
  SimNode node_;
  std::optional<ExporterProcess> exporter_;
};

}  // namespace podgpu
