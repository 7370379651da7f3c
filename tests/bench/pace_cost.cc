// pace_cost: what podgpu costs where it runs, scraped as Prometheus does, at the default pace and
// at one of a second; beside a dcgm-exporter, whose program the first argument names.
//
// Both read the same simulated libraries in their own process, ask the same kubelet and serve the
// rows of the same list; it is run in the root of the repository.  All run at once, so other work
// on the machine concerns both.  CPU is the time of all threads, the simulated library included.
// The measurements begin when podgpu takes the pods of the nodes for quiet.
#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/process_cost.h"
#include "tests/bench/scraper.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

using Costs = std::map<std::string, double>;  // Per second, by thread.

constexpr double kKibPerMib = 1024;
constexpr int kMostSecondsToStart = 60;
constexpr int kUntilQuietS = 75;  // A little more than a minute without a change of pods.

struct Pace {
  const char* name;
  NodeSize size;
  const char* interval;
  int scrape_every_s;
  int measured_s;
};

constexpr std::array kPaces = {
    Pace{"a second, 16 x 7 MIG", {.gpus = 16, .instances_per_gpu = 7}, "1000", 1, 30},
    Pace{"a second, 8 GPUs", {.gpus = 8}, "1000", 1, 30},
    Pace{"the default, 8 GPUs", {.gpus = 8}, "30000", 15, 120},
};

void Wait(int seconds) { ::poll(nullptr, 0, seconds * 1'000); }

double Sum(const Costs& costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0,
                         [](double sum, const auto& one) { return sum + one.second; });
}

// One exporter on one node.
class Subject {
 public:
  Subject(const char* name, std::vector<std::string> arguments, const SimNode& node, int port)
      : name_(name), process_(std::move(arguments), Variables(node)), port_(port) {
    std::string page;
    int seconds = 0;
    do {
      Wait(1);
      process_.ReadAvailable();
      PODGPU_CHECK(process_.IsRunning() && ++seconds < kMostSecondsToStart);
      page = LoopbackClient(served()).Fetch("/metrics").body;
    } while (page.find("\nDCGM_FI_DEV_GPU_TEMP{") == std::string::npos ||
             page.find("pod=\"train-0\"") == std::string::npos);
  }

  const char* name() const { return name_; }
  void Scrape() { PODGPU_CHECK(scraper_->Fetch() > 0); }
  void DrainLog() { process_.ReadAvailable(); }

  // Whether scrapes follow: podgpu ends a connection that was idle for long.
  void Begin(bool is_scraped) {
    scraper_.reset();
    if (is_scraped) {
      scraper_.emplace(served(), Scraper::Encoding::kGzip);
      Scrape();
    }
    cpu_ms_ = CpuMsByThread(process_.pid());
    wakeups_ = WakeupsByThread(process_.pid());
    begun_ = SystemClock().Now();
  }
  // Costs per second since Begin.
  Costs cpu_ms() const { return PerSecond(cpu_ms_, CpuMsByThread(process_.pid())); }
  Costs wakeups() const { return PerSecond(wakeups_, WakeupsByThread(process_.pid())); }
  Memory memory() const { return MemoryOf(process_.pid()); }
  size_t CountRows() const {
    const std::string page = LoopbackClient(served()).Fetch("/metrics").body;
    size_t rows = 0;
    for (const std::string_view line : Split(page, '\n')) {
      rows += line.starts_with("DCGM_") ? 1U : 0U;
    }
    return rows;
  }

 private:
  static std::vector<std::string> Variables(const SimNode& node) {
    std::vector<std::string> variables = node.variables();
    variables.emplace_back("NODE_NAME=gpu-node-0");
    variables.emplace_back("LD_LIBRARY_PATH=" + node.directory() + "/lib");
    return variables;
  }
  uint16_t served() const { return static_cast<uint16_t>(port_); }
  Costs PerSecond(const Costs& before, const Costs& after) const {
    const double seconds = std::chrono::duration<double>(SystemClock().Now() - begun_).count();
    Costs costs;
    for (const auto& [name, used] : after) {
      const auto first = before.find(name);
      costs[name] = (used - (first == before.end() ? 0 : first->second)) / seconds;
    }
    return costs;
  }

  const char* name_;
  Child process_;
  int port_;
  std::optional<Scraper> scraper_;
  Costs cpu_ms_;
  Costs wakeups_;
  Instant begun_;
};

// A node with podgpu, and with the peer if there is one.
class PacedNode {
 public:
  PacedNode(const Pace& pace, const std::string& peer)
      : pace_(pace), node_(files_.Write("node.yaml", ScenarioOf(pace.size)), SimNode::Pace::kReal) {
    PODGPU_CHECK(node_.ready());
    const int port = FreePort();
    // Flags of both programs, then those that only podgpu has.
    std::vector<std::string> podgpu = FlagsFor(PODGPU_BINARY_DIR "/bin/podgpu", port);
    podgpu.insert(podgpu.end(),
                  {"--metrics-views=dcgm", "--libdcgm=" + node_.library("libdcgm.so.4"),
                   "--libnvidia-ml=" + node_.library("libnvidia-ml.so.1"),
                   "--sysfs-root=" + node_.directory() + "/sys"});
    subjects_.emplace_back("podgpu", podgpu, node_, port);
    if (!peer.empty()) {
      const int other = FreePort();
      subjects_.emplace_back("the peer", FlagsFor(peer, other), node_, other);
    }
  }

  void MeasureScraped() {
    Begin(true);
    for (int second = 1; second <= pace_.measured_s; ++second) {
      Wait(1);
      for (Subject& subject : subjects_) {
        if (second % pace_.scrape_every_s == 0) {
          subject.Scrape();
        }
        subject.DrainLog();
      }
    }
    std::printf("\n%s (-c %s), a scrape each %d s, %d s\n", pace_.name, pace_.interval,
                pace_.scrape_every_s, pace_.measured_s);
    PrintTable();
  }

  void MeasureQuiet() {
    constexpr int kSeconds = 60;
    Begin(false);
    Wait(kSeconds);
    std::printf("\n%s (-c %s), no scrape, %d s\n", pace_.name, pace_.interval, kSeconds);
    PrintTable();
  }

 private:
  std::vector<std::string> FlagsFor(const std::string& program, int port) const {
    return {program,
            "-a",
            "127.0.0.1:" + std::to_string(port),
            "-k",
            "-c",
            pace_.interval,
            "-f",
            "deploy/default-counters.csv",
            "--pod-resources-kubelet-socket",
            node_.kubelet_socket()};
  }

  void Begin(bool is_scraped) {
    for (Subject& subject : subjects_) {
      subject.Begin(is_scraped);
    }
  }

  void PrintTable() {
    std::printf("%-10s %6s %12s %14s %10s %14s\n", "", "rows", "CPU, ms/s", "wake-ups/s",
                "resident", "private dirty");
    const double own_ms = Sum(subjects_.front().cpu_ms());
    for (const Subject& subject : subjects_) {
      const double cpu_ms = Sum(subject.cpu_ms());
      const Memory memory = subject.memory();
      std::printf("%-10s %6zu %12.3f %14.2f %6.1f MiB %10.1f MiB", subject.name(),
                  subject.CountRows(), cpu_ms, Sum(subject.wakeups()),
                  memory.resident_kib / kKibPerMib, memory.private_dirty_kib / kKibPerMib);
      std::printf(&subject == &subjects_.front() ? "\n" : ", %.1f x the CPU\n", cpu_ms / own_ms);
    }
    PrintThreads(subjects_.front());
  }

  static void PrintThreads(const Subject& subject) {
    std::printf("  by thread, ms/s and wake-ups/s:");
    const Costs cpu_ms = subject.cpu_ms();
    for (const auto& [thread, wakeups] : subject.wakeups()) {
      const auto used = cpu_ms.find(thread);
      std::printf(" %s %.3f %.2f", thread.c_str(), used == cpu_ms.end() ? 0 : used->second,
                  wakeups);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  const Pace& pace_;
  TemporaryFolder files_;
  SimNode node_;
  std::deque<Subject> subjects_;
};

void Run(const std::string& peer) {
  std::printf("pace_cost: starting%s; about six minutes\n",
              peer.empty() ? " podgpu without a peer" : (" podgpu and " + peer).c_str());
  std::fflush(stdout);
  std::deque<PacedNode> nodes;
  for (const Pace& pace : kPaces) {
    nodes.emplace_back(pace, peer);
  }
  Wait(kUntilQuietS);
  while (nodes.size() > 1) {  // The nodes of a second's pace end before the last one is measured.
    nodes.front().MeasureScraped();
    nodes.pop_front();
  }
  nodes.front().MeasureScraped();
  nodes.front().MeasureQuiet();
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) { podgpu::Run(argc > 1 ? argv[1] : ""); }
