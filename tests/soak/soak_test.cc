// Three days of a busy node in a minute: the whole exporter on a simulated node, on clocks that
// move together.
//
// The vendor's library is the simulated libdcgm.so.4, opened as the program opens it.  Pods start
// and end, MIG layouts change, a GPU is lost, calls fail, the driver is reloaded.  After each hour
// all faults are over, and the test compares counters with the world's own, and memory, threads and
// descriptors with those after the first hours.  SOAK_HOURS makes it longer or shorter.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/library.h"
#include "base/log.h"
#include "base/process_usage.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "fields/counters_csv.h"
#include "sim/testing/node.h"
#include "sim/world/run_directory.h"
#include "source/open_source.h"
#include "tests/matrix/device_lines.h"
#include "tests/matrix/live_heap.h"
#include "tests/matrix/lockstep_clock.h"
#include "tests/pod_lister.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPeriod{30};
constexpr int kPeriodsPerHour = 3600 / 30;
constexpr int kGpus = 3;
// The same situation returns every four hours; before that, tables and texts still grow.
constexpr int kCycleHours = 4;
constexpr int64_t kHeapSlackBytes = 64 << 10;

int Hours() {
  // Only one thread runs at this point.
  const char* text = std::getenv("SOAK_HOURS");  // NOLINT(concurrency-mt-unsafe)
  const int usual = LiveHeapIsCounted() ? 72 : 2 * kCycleHours;
  return text == nullptr ? usual : static_cast<int>(ParseDecimal(text).value_or(1));
}

constexpr std::string_view kNode = R"(
format: 1
name: soak
description: 3 x H100, one of them in MIG mode; pods, layouts and faults come and go
seed: 11

gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb]}
  - {class: h100-sxm5-80gb}

loads:
  train: {phases: [{for: 40s, sm: 60%, mem: 30%}, {for: 20s}]}

churn:
  - {template: trainer, namespace: batch, every: 20min, life: 15min, gpus: [0], load: train}
  - {template: job, namespace: ci, start: 5min, every: 7min, life: 4min, gpus: [2], load: train}

faults:
)";

// One event each hour, which ends within the hour.
std::string Scenario(int hours) {
  std::string text(kNode);
  for (int hour = 1; hour < hours; ++hour) {
    const int at_min = hour * 60 + 5;
    switch (hour % kCycleHours) {
      case 0:
        text += absl::StrFormat(
            "  - {at: %dmin, kind: mig_set, gpu: 1, layout: [3g.40gb, 2g.20gb]}\n", at_min);
        break;
      case 1:
        text += absl::StrFormat(
            "  - {at: %dmin, kind: mig_set, gpu: 1, layout: [1g.10gb, 1g.10gb, 4g.40gb]}\n",
            at_min);
        text +=
            absl::StrFormat("  - {at: %dmin, kind: gpu_lost, gpu: 2, for: 6min}\n", at_min + 10);
        break;
      case 2:
        text += absl::StrFormat(
            "  - {at: %dmin, kind: error, calls: [dcgmEntitiesGetLatestValues], code: -21, for: "
            "5min}\n",
            at_min);
        break;
      default:
        text += absl::StrFormat("  - {at: %dmin, kind: driver_reload, for: 4min}\n", at_min);
    }
  }
  return hours > 1 ? text : text.substr(0, text.rfind("faults:"));
}

// The kubelet's answer, from the world.
class WorldKubelet final : public PodResources {
 public:
  explicit WorldKubelet(sim::RunDirectory& node) : node_(node) {}

  StatusOr<std::shared_ptr<const PodAllocations>> List() override {
    PodLister lister;
    node_.world().VisitPods(node_.Now(), lister);
    return std::make_shared<const PodAllocations>(std::move(lister.answer));
  }

 private:
  sim::RunDirectory& node_;
};

class Soak : public ::testing::Test {
 protected:
  void SetUp() override {
    hours_ = Hours();
    node_.emplace(Scenario(hours_));
    // Only one thread runs at this point; the library reads the variable when it is opened.
    setenv("PODGPU_SIM_DIR", node_->path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    std::string error;
    run_ = sim::RunDirectory::Open(node_->path(), error);
    ASSERT_NE(run_, nullptr) << error;
    ConfigureLog(LogLevel::kError, LogForm::kText);
    kubelet_ = std::make_unique<WorldKubelet>(*run_);
    clock_ = std::make_unique<LockstepClock>(
        written_off_, WallTime(std::chrono::microseconds(run_->StampUs(run_->Now()))));
    ExporterOptions options;
    options.http.address = "127.0.0.1:0";
    options.collect_interval = kPeriod;
    options.kubernetes = true;
    options.views = {View::kDcgm, View::kNative, View::kSelf};
    options.view.kubernetes = true;
    options.view.hostname = "node-a";
    options.counters = ParseCounters(DefaultCountersCsv(), "default").value().counters;
    const SourceOpener open = [this, stale_after = StaleAfter(options)] {
      clock_->NoteWorker();
      SourceOptions source;
      source.dcgm_library = std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so.4";
      source.nvml_library = std::string(PODGPU_BINARY_DIR) + "/lib/libnvidia-ml.so.1";
      source.stale_after = stale_after;
      return OpenDcgmSource(source, loader_, *clock_, written_off_);
    };
    StatusOr<std::unique_ptr<Exporter>> exporter =
        Exporter::Start(options, {*clock_, open, *kubelet_, {}, written_off_});
    ASSERT_TRUE(exporter.ok()) << exporter.status();
    exporter_ = *std::move(exporter);
    clock_->NoteOtherThread();  // The HTTP thread.
    clock_->AwaitQuiet();
  }

  void TearDown() override {
    if (exporter_ != nullptr) {
      EXPECT_TRUE(exporter_->Stop(std::chrono::hours(1)));
    }
  }

  void PassAnHour() {
    for (int i = 0; i < kPeriodsPerHour; ++i) {
      ASSERT_TRUE(node_->writer().Tick(std::chrono::microseconds(kPeriod).count()).ok());
      clock_->Advance(kPeriod);
      clock_->AwaitQuiet();
    }
  }

  std::string Page() const { return std::string(exporter_->tick().snapshots().Get()->text()); }

  // The number of the first line that begins with `series`.
  static std::string First(std::string_view page, std::string_view series) {
    const size_t at = page.find("\n" + std::string(series));
    if (at == std::string_view::npos) {
      return "nothing";
    }
    const std::string_view line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    return std::string(line.substr(line.rfind(' ') + 1));
  }

  // Whether `shown` is the board's counter at some time in the last two periods.
  bool WasCounted(int gpu, const std::string& shown) const {
    constexpr sim::TimeUs kRefreshUs = 100'000;
    const sim::TimeUs now = run_->Now();
    for (int64_t back = 0; back <= 2 * kPeriod / milliseconds(100); ++back) {
      const int64_t counted = run_->world().EnergyCounterMj(gpu, now - back * kRefreshUs);
      if (shown == std::to_string(counted)) {
        return true;
      }
    }
    return false;
  }

  void ExpectTrueCounters(const std::string& page, int hour) const {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      const std::string label = absl::StrFormat("{gpu=\"%d\"", gpu);
      const std::string mj = First(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + label);
      EXPECT_TRUE(WasCounted(gpu, mj))
          << "hour " << hour << ", GPU " << gpu << " shows " << mj << " mJ, the board counts "
          << run_->world().EnergyCounterMj(gpu, run_->Now());
      const std::string joules = First(page, "podgpu_gpu_energy_joules_total" + label);
      EXPECT_NEAR(std::strtod(joules.c_str(), nullptr) * 1000, std::strtod(mj.c_str(), nullptr),
                  0.5)
          << "hour " << hour << ", GPU " << gpu;
    }
  }

  int hours_ = 0;
  std::optional<sim::TestNode> node_;
  std::unique_ptr<sim::RunDirectory> run_;
  std::unique_ptr<WorldKubelet> kubelet_;
  SystemLibraryLoader loader_;
  const ThreadTally written_off_ = NewThreadTally();
  std::unique_ptr<LockstepClock> clock_;
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(Soak, NothingGrowsAndNoCounterDrifts) {
  ProcessUsage first;
  int64_t first_heap = 0;
  double ticks = 0;
  double connections = 0;
  std::set<std::string> series;  // Series of device values after the first cycle.
  for (int hour = 1; hour <= hours_; ++hour) {
    PassAnHour();
    const std::string page = Page();
    EXPECT_EQ(First(page, "podgpu_ready"), "1") << "hour " << hour;
    EXPECT_EQ(First(page, "podgpu_source_state{state=\"ok\"}"), "1") << "hour " << hour;
    EXPECT_EQ(First(page, "podgpu_gpus_present"), std::to_string(kGpus)) << "hour " << hour;
    EXPECT_EQ(First(page, "podgpu_gpus_expected"), std::to_string(kGpus)) << "hour " << hour;
    ExpectTrueCounters(page, hour);
    const double ticks_now = SumOf(page, "podgpu_ticks_total");
    const double connections_now = SumOf(page, "podgpu_source_connections_total");
    EXPECT_GE(ticks_now, ticks + kPeriodsPerHour) << "hour " << hour;
    EXPECT_GE(connections_now, connections) << "hour " << hour;
    ticks = ticks_now;
    connections = connections_now;
    const ProcessUsage usage = ReadProcessUsage();
    if (hour == kCycleHours) {
      first = usage;
      first_heap = LiveHeapBytes();
    } else if (hour > kCycleHours) {
      EXPECT_EQ(usage.threads, first.threads) << "hour " << hour;
      EXPECT_EQ(usage.open_descriptors, first.open_descriptors) << "hour " << hour;
    }
    if (hour % kCycleHours == 0) {  // The MIG layout is the same each time.
      std::set<std::string> now;
      for (const std::string& line : DeviceLinesOf(page).measured) {
        const bool may_appear = line.starts_with("podgpu_gpu_throttle") &&
                                line.find("=\"power_cap\"") == std::string::npos &&
                                line.find("=\"thermal\"") == std::string::npos;
        if (!may_appear) {  // Reasons appear when they first hold.
          now.insert(line.substr(0, line.rfind(' ')));
        }
      }
      series = series.empty() ? now : series;
      std::vector<std::string> other;
      std::ranges::set_symmetric_difference(now, series, std::back_inserter(other));
      EXPECT_EQ(other, std::vector<std::string>()) << "hour " << hour;
    }
    if (hour > kCycleHours && hour % kCycleHours == 0) {
      EXPECT_LE(LiveHeapBytes(), first_heap + kHeapSlackBytes) << "hour " << hour;
    }
  }
  const ProcessUsage last = ReadProcessUsage();
  std::printf("soak: %d hours, %.0f ticks, %.0f connections; live heap %+" PRId64
              " bytes since hour %d, resident %" PRId64 " KiB, %" PRId64 " threads\n",
              hours_, ticks, connections, hours_ < kCycleHours ? 0 : LiveHeapBytes() - first_heap,
              kCycleHours, last.resident_bytes.value_or(0) / 1024, last.threads.value_or(0));
}

}  // namespace
}  // namespace podgpu
