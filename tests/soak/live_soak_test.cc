// The program for half an hour in real time, at ten readings a second, while everything around it
// fails in turn.
//
// Real processes: podgpu with the sanitizers of the preset, a simulated node with an engine, a
// kubelet and an API server.  Pods start and end all the time, scrapers read every page, rude
// clients misuse the server.  In each round MIG layouts change, a GPU is lost, calls fail, the
// driver is reloaded, kubelet and API server fail in several ways; each failure must show, and
// after it everything must be as before: readiness, GPUs, series, counters, threads and
// descriptors. soak_test does the same for days on a virtual clock; this one has the races of real
// time. SOAK_MINUTES makes it longer or shorter; `./dev soak` runs it.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "sim/world/run_directory.h"
#include "tests/e2e/failure_fixture.h"
#include "tests/matrix/device_lines.h"
#include "tests/soak/rude_clients.h"

namespace podgpu {
namespace {

constexpr int kGpus = 3;
constexpr int kPolls = 6'000;  // 1 min: long enough for a busy machine.
constexpr int kBetweenLooksMs = 10;
constexpr uint64_t kMinutesByDefault = 30;
// Until the end of this round, tables, texts and the allocator's pools still grow.
constexpr int kWarmRounds = 3;
// The sanitizer's allocator grows for a while.  600 bytes that each tick keeps would be 16 MiB in
// ninety rounds.  Memory that is lost, the sanitizer reports at the end, to the byte.
constexpr int64_t kMemorySlackKib = 16'384;
// The simulated libraries in the process keep each world that a command made.
constexpr int64_t kWorldsOfRoundKib = 256;
// The connections to the kubelet, the API server and the engine are closed and opened again; a leak
// would add some in each round.
constexpr int64_t kDescriptorSlack = 3;

constexpr std::string_view kBusyNode = R"(format: 1
name: live-soak
seed: 13
gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb]}
  - {class: h100-sxm5-80gb}
loads: {train: {phases: [{for: 2s, sm: 60%, mem: 30%}, {for: 1s}]}}
pods:
  - name: steady-0
    namespace: research
    containers: [{name: main, gpus: [0], processes: [{pid: 41, load: train, memory: 8GiB}]}]
churn:
  - {template: trainer, namespace: batch, every: 4s, life: 3s, gpus: [0], load: train, memory: 4GiB}
  - {template: job, namespace: ci, start: 1s, every: 1300ms, life: 700ms, gpus: [2], load: train}
)";

uint64_t Minutes() {
  const char* text = std::getenv("SOAK_MINUTES");  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? kMinutesByDefault : ParseDecimal(text).value_or(1);
}

// One failure and the part of the page that shows it.
struct Disturbance {
  std::vector<std::string> fault;
  std::string_view sign;
};

// Each failure of a round, in this order.
const std::vector<Disturbance>& Disturbances() {
  static const std::vector<Disturbance> all = {
      {{"kubelet_down"}, "\npodgpu_pod_resources_up 0\n"},
      {{"gpu_lost", "gpu=2"}, "podgpu_gpus_present 2\n"},
      {{"kubelet_garbage", "form=message"}, "\npodgpu_pod_resources_up 0\n"},
      {{"error", "calls=dcgmEntitiesGetLatestValues", "code=-21"}, "\npodgpu_ready 0\n"},
      {{"driver_reload", "for=30s"}, "\npodgpu_ready 0\n"},
      {{"kubelet_rate_limited"}, "\npodgpu_pod_resources_up 0\n"},
  };
  return all;
}

struct Resources {
  int64_t descriptors = 0;
  int64_t threads = 0;
  int64_t anonymous_kib = 0;
};

int64_t EntriesOf(const std::string& folder) {
  std::error_code gone;
  const std::filesystem::directory_iterator entries(folder, gone);
  return gone ? -1 : std::distance(begin(entries), end(entries));
}

// Memory of its own: the simulated libraries keep each image of the world mapped, which is a file.
int64_t AnonymousKib(const std::string& folder) {
  std::ifstream file(folder + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:")) {
      return std::strtoll(line.c_str() + std::string_view("RssAnon:").size(), nullptr, 10);
    }
  }
  return 0;
}

Resources ResourcesOf(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  return {.descriptors = EntriesOf(folder + "/fd"),
          .threads = EntriesOf(folder + "/task"),
          .anonymous_kib = AnonymousKib(folder)};
}

class LiveSoak : public FailureFixture {
 protected:
  LiveSoak()
      : FailureFixture(kBusyNode, {"--api-server", "--prompt-engine", "--restart-engine=300ms"}) {}

  void SetUp() override {
    ASSERT_TRUE(node_.ready()) << node_.output();
    // The sanitizer keeps freed memory for a while to find late uses; less of it shows a leak
    // earlier.
    std::vector<std::string> variables = {"ASAN_OPTIONS=quarantine_size_mb=1", "POD_NAME=steady-0",
                                          "POD_NAMESPACE=research"};
    std::ifstream file(node_.directory() + "/api/env");
    for (std::string line; std::getline(file, line);) {
      variables.push_back(line);
    }
    exporter_.emplace(
        node_,
        std::vector<std::string>{"-c=100", "--stale-after=4s", kWholePage,
                                 "-r=unix://" + node_.engine_socket(), "--process-metrics=on",
                                 "--process-interval=200ms", "--metric-retention=10s",
                                 "--proc-root=" + node_.directory() + "/proc"},
        variables);
    ASSERT_TRUE(exporter_->ready()) << exporter_->process().output();
    ASSERT_TRUE(exporter_->Await("/metrics", "\nDCGM_FI_PROF_DRAM_ACTIVE{")) << exporter_->Get("/");
    std::string error;
    run_ = sim::RunDirectory::Open(node_.directory(), error);
    ASSERT_NE(run_, nullptr) << error;
    series_ = MeasuredSeries();
    ASSERT_FALSE(series_.empty());
  }

  // The series of device values, without the labels of pods.
  std::set<std::string> MeasuredSeries() const {
    std::set<std::string> series;
    for (const std::string& line : DeviceLinesOf(Page().text()).measured) {
      // Throttle reasons appear when they first hold; processes come and go.
      if (line.starts_with("DCGM_FI_") || line.starts_with("podgpu_gpu_temp") ||
          line.starts_with("podgpu_gpu_power") || line.starts_with("podgpu_gpu_memory")) {
        series.insert(line.substr(0, line.rfind(' ')));
      }
    }
    return series;
  }

  static bool AwaitThat(const std::function<bool()>& holds) {
    for (int i = 0; i < kPolls && !holds(); ++i) {
      ::poll(nullptr, 0, kBetweenLooksMs);
    }
    return holds();
  }

  void Disturb(const Disturbance& disturbance) {
    SCOPED_TRACE(disturbance.fault.front());
    std::vector<std::string> command = {"fault"};
    command.insert(command.end(), disturbance.fault.begin(), disturbance.fault.end());
    node_.Command(command);
    EXPECT_TRUE(exporter_->Await("/metrics", disturbance.sign)) << exporter_->Get("/readyz");
    node_.Command({"heal"});
    ExpectWell();
    exporter_->process().ReadAvailable();
    node_.ReadAvailable();
  }

  void ExpectWell() {
    EXPECT_TRUE(AwaitPage([this](const MetricPage& page) {
      return page.Value("podgpu_ready") == 1 &&
             page.Value("podgpu_source_state", {kStateOk}) == 1 &&
             page.Value("podgpu_gpus_present") == kGpus &&
             page.Value("podgpu_gpus_expected") == kGpus &&
             page.Value("podgpu_pod_resources_up") == 1;
    })) << exporter_->Get("/readyz")
        << SelfLines() << exporter_->process().output();
  }

  // The page's lines about podgpu and its sources, for messages.
  std::string SelfLines() const {
    std::string lines;
    const MetricPage page = Page();
    for (const std::string_view line : Split(page.text(), '\n')) {
      if (line.starts_with("podgpu_") && line.find("gpu=\"") == std::string_view::npos) {
        lines.append(line).append("\n");
      }
    }
    return lines;
  }

  // Another MIG layout and back: new series, then the old ones.
  void ChangeLayouts() const {
    node_.Command({"mig", "--gpu=1", "1g.10gb", "1g.10gb", "4g.40gb"});
    EXPECT_TRUE(AwaitThat([this] { return MeasuredSeries().size() > series_.size(); }));
    node_.Command({"mig", "--gpu=1", "3g.40gb", "2g.20gb"});
  }

  // The series are the first ones; the lines that differ when they are not.
  void ExpectFirstSeries() const {
    const bool same = AwaitThat([this] { return MeasuredSeries() == series_; });
    std::vector<std::string> other;
    std::ranges::set_symmetric_difference(MeasuredSeries(), series_, std::back_inserter(other));
    EXPECT_TRUE(same) << ::testing::PrintToString(other);
  }

  // Whether the board's counter had this value at some time in the last five seconds.
  bool WasCounted(int gpu, double shown_mj) const {
    constexpr sim::TimeUs kRefreshUs = 100'000;
    constexpr int kRefreshesBack = 50;
    const sim::TimeUs now = run_->Now();
    for (int64_t back = 0; back <= kRefreshesBack; ++back) {
      const int64_t counted = run_->world().EnergyCounterMj(gpu, now - back * kRefreshUs);
      if (static_cast<int64_t>(shown_mj) == counted) {
        return true;
      }
    }
    return false;
  }

  // The value of the last line of `family` for a GPU: with pods there is a line for each.
  static double NumberOf(const MetricPage& page, std::string_view family, int gpu) {
    const std::vector<std::string_view> lines = page.Lines(family, {Gpu(std::to_string(gpu))});
    return lines.empty()
               ? -1
               : std::strtod(std::string(lines.back().substr(lines.back().rfind(' '))).c_str(),
                             nullptr);
  }

  void ExpectTrueCounters() const {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      EXPECT_TRUE(AwaitPage([&](const MetricPage& page) {
        const double mj = NumberOf(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", gpu);
        const double joules = NumberOf(page, "podgpu_gpu_energy_joules_total", gpu);
        return std::abs(joules * 1000 - mj) < 0.5 && WasCounted(gpu, mj);
      })) << "GPU "
          << gpu << ": the board counts " << run_->world().EnergyCounterMj(gpu, run_->Now())
          << " mJ, the page has\n"
          << Page().text();
    }
  }

  // With no client: the connections of clients are closed.
  void ExpectFirstResources() {
    const pid_t pid = exporter_->process().pid();
    if (round_ > kWarmRounds) {
      EXPECT_TRUE(AwaitThat([&] {
        const Resources now = ResourcesOf(pid);
        return now.descriptors <= warm_.descriptors + kDescriptorSlack &&
               now.threads <= warm_.threads;
      })) << ResourcesOf(pid).descriptors
          << " descriptors, were " << warm_.descriptors << "; " << ResourcesOf(pid).threads
          << " threads, were " << warm_.threads;
      return;
    }
    // A connection to the engine or the kubelet may begin at this moment; the least of some looks.
    Resources least = ResourcesOf(pid);
    for (int i = 0; i < 100; ++i) {
      ::poll(nullptr, 0, kBetweenLooksMs);
      const Resources now = ResourcesOf(pid);
      least = {.descriptors = std::min(least.descriptors, now.descriptors),
               .threads = std::min(least.threads, now.threads),
               .anonymous_kib = now.anonymous_kib};
    }
    warm_ = {.descriptors = std::max(warm_.descriptors, least.descriptors),
             .threads = std::max(warm_.threads, least.threads),
             .anonymous_kib = least.anonymous_kib};
  }

  void PassARound() {
    ++round_;
    SCOPED_TRACE(absl::StrFormat("round %d", round_));
    {
      const RudeClients clients(exporter_->port(), counts_);
      ChangeLayouts();
      for (const Disturbance& disturbance : Disturbances()) {
        Disturb(disturbance);
      }
      ExpectFirstSeries();
      ExpectTrueCounters();
    }
    ExpectFirstResources();
    const double ticks = SumOf(Page().text(), "podgpu_ticks_total");
    EXPECT_GT(ticks, ticks_);
    ticks_ = ticks;
    std::printf("round %d: %.0f ticks, %.0f series, anonymous memory %" PRId64 " KiB\n", round_,
                ticks, SumOf(Page().text(), "podgpu_series"),
                ResourcesOf(exporter_->process().pid()).anonymous_kib);
    std::fflush(stdout);
  }

  std::unique_ptr<sim::RunDirectory> run_;
  std::set<std::string> series_;
  RudeClients::Counts counts_;
  Resources warm_;
  int round_ = 0;
  double ticks_ = 0;
  SystemClock clock_;
};

TEST_F(LiveSoak, NothingGrowsAndEachFailurePasses) {
  const Instant begin = clock_.Now();
  const Instant end = begin + std::chrono::minutes(Minutes());
  while (clock_.Now() < end && !HasFailure()) {
    PassARound();
  }
  const Resources last = ResourcesOf(exporter_->process().pid());
  if (round_ > 2 * kWarmRounds) {
    EXPECT_LE(last.anonymous_kib,
              warm_.anonymous_kib + kMemorySlackKib + (round_ - kWarmRounds) * kWorldsOfRoundKib);
  }
  exporter_->process().Signal(SIGTERM);
  // The sanitizer's report of leaks would make it another code.
  EXPECT_EQ(exporter_->process().Wait(), 0) << exporter_->process().output();
  std::printf("live soak: %d rounds in %.1f min, %.0f ticks, %" PRId64 " pages, %" PRId64
              " misuses; anonymous memory %" PRId64 " KiB, %+" PRId64 " since round %d; %" PRId64
              " threads, %" PRId64 " descriptors\n",
              round_, std::chrono::duration<double, std::ratio<60>>(clock_.Now() - begin).count(),
              ticks_, counts_.pages.load(), counts_.misuses.load(), last.anonymous_kib,
              last.anonymous_kib - warm_.anonymous_kib, kWarmRounds, last.threads,
              last.descriptors);
}

}  // namespace
}  // namespace podgpu
