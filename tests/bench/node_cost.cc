// node_cost: the cost of podgpu on a GPU node, beside that of the vendor's library in it.
//
// On each simulated node run at once: podgpu with the embedded engine, podgpu with the remote one,
// and for each a vendor_probe; and podgpu with NVML alone.  Podgpu's own cost is its total minus
// the probe's.  With NVML the vendor's share is the CPU time of the threads nvml and nvml-events.
// CPU is the time of all threads; other work on the machine makes it a little larger, and round
// trips much longer.
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <tuple>
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

constexpr int kQuietSeconds = 20;
constexpr int kSettleMs = 3'000;
constexpr int kUntilPodsAreQuietMs = 65'000;  // Then podgpu asks the kubelet less often.
constexpr int kPollMs = 2;
constexpr double kKibPerMib = 1024;
constexpr size_t kWarmUpScrapes = 20;

void Wait(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

double MsSince(Instant start) {
  return std::chrono::duration<double, std::milli>(SystemClock().Now() - start).count();
}

// Measured of both podgpu and the probe.
struct Figures {
  double resident_mib = 0;
  double private_dirty_mib = 0;
  double threads = 0;
  double descriptors = 0;
  double start_cpu_ms = 0;  // Until the first full page, or the first reading.
  double tick_cpu_ms = 0;   // Per second without a scrape.
};

Figures operator-(Figures a, const Figures& b) {
  a.resident_mib -= b.resident_mib;
  a.private_dirty_mib -= b.private_dirty_mib;
  a.threads -= b.threads;
  a.descriptors -= b.descriptors;
  a.start_cpu_ms -= b.start_cpu_ms;
  a.tick_cpu_ms -= b.tick_cpu_ms;
  return a;
}

void TakeSizes(pid_t pid, Figures& figures) {
  const Memory memory = MemoryOf(pid);
  figures.resident_mib = memory.resident_kib / kKibPerMib;
  figures.private_dirty_mib = memory.private_dirty_kib / kKibPerMib;
  figures.threads = static_cast<double>(ThreadsOf(pid));
  figures.descriptors = static_cast<double>(DescriptorsOf(pid));
}

// The probe's cost minus its cost before it opened the vendor's libraries.
class Probe {
 public:
  Probe(const SimNode& node, const std::string& socket)
      : process_(Arguments(node, socket), node.variables()) {
    PODGPU_CHECK(process_.AwaitLine("base").has_value());
    TakeSizes(pid(), base_);
    base_.start_cpu_ms = CpuMsOf(pid());
    process_.Feed("");
    PODGPU_CHECK(process_.AwaitLine("reading").has_value());
    start_cpu_ms_ = CpuMsOf(pid());
  }

  pid_t pid() const { return process_.pid(); }

  Figures Take(double tick_cpu_ms) const {
    Figures now;
    TakeSizes(pid(), now);
    now.start_cpu_ms = start_cpu_ms_;
    now.tick_cpu_ms = tick_cpu_ms;
    return now - base_;
  }

 private:
  static std::vector<std::string> Arguments(const SimNode& node, const std::string& socket) {
    std::vector<std::string> arguments = {PODGPU_BINARY_DIR "/bin/vendor_probe",
                                          node.library("libdcgm.so.4"),
                                          node.library("libnvidia-ml.so.1"), socket};
    for (const uint16_t id : FieldsReadForSixtyCounters()) {
      arguments.push_back(std::to_string(id));
    }
    return arguments;
  }

  Child process_;
  Figures base_;
  double start_cpu_ms_ = 0;
};

// The cost of podgpu from its start.
class Subject {
 public:
  Subject(const SimNode& node, const std::vector<std::string>& flags)
      : started_(SystemClock().Now()), exporter_(node, flags) {
    PODGPU_CHECK(exporter_.ready());
    LoopbackClient client(port());
    while (!IsFull(page_ = client.Fetch("/metrics").body)) {
      Wait(kPollMs);
    }
    start_cpu_ms_ = CpuMsOf(pid());
    first_page_ms_ = MsSince(started_);
  }

  pid_t pid() { return exporter_.process().pid(); }
  uint16_t port() const { return exporter_.port(); }
  double first_page_ms() const { return first_page_ms_; }

  Figures Take(double tick_cpu_ms) {
    Figures now;
    TakeSizes(pid(), now);
    now.start_cpu_ms = start_cpu_ms_;
    now.tick_cpu_ms = tick_cpu_ms;
    return now;
  }

  // The time from SIGTERM to its end.
  double StopMs() {
    const Instant start = SystemClock().Now();
    exporter_.process().Signal(SIGTERM);
    PODGPU_CHECK(exporter_.process().Wait() == 0);
    return MsSince(start);
  }

 private:
  // Waits until devices are read and their pods are known.
  static bool IsFull(std::string_view page) {
    return page.find("\npodgpu_ready 1\n") != std::string_view::npos &&
           page.find("pod=\"train-0\"") != std::string_view::npos;
  }

  const Instant started_;
  ExporterProcess exporter_;
  std::string page_;
  double start_cpu_ms_ = 0;
  double first_page_ms_ = 0;
};

struct Page {
  size_t series = 0;
  size_t dcgm_series = 0;
  size_t bytes = 0;
};

Page PageOf(uint16_t port) {
  const std::string body = LoopbackClient(port).Fetch("/metrics").body;
  Page page{.bytes = body.size()};
  for (const std::string_view line : Split(body, '\n')) {
    page.series += !line.empty() && line.front() != '#' ? 1U : 0U;
    page.dcgm_series += line.starts_with("DCGM_") ? 1U : 0U;
  }
  return page;
}

// podgpu and the probe on one kind of engine.
struct Pair {
  Figures whole;
  Figures vendor;
  Figures own() const { return whole - vendor; }
};

struct ScrapeFigures {
  size_t count = 0;
  size_t bytes = 0;
  double cpu_us = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

ScrapeFigures Scrape(Subject& subject, Scraper::Encoding encoding, size_t count,
                     double tick_cpu_ms) {
  Scraper scraper(subject.port(), encoding);
  PODGPU_CHECK(scraper.Fetch() > 0);
  const Instant start = SystemClock().Now();
  const double before_ms = CpuMsOf(subject.pid());
  RoundTrips trips;
  ScrapeFigures figures{.count = count};
  for (size_t i = 0; i < count; ++i) {
    figures.bytes = scraper.Fetch(trips);
    PODGPU_CHECK(figures.bytes > 0);
  }
  const double ticks_ms = tick_cpu_ms * MsSince(start) / 1e3;
  figures.cpu_us =
      (CpuMsOf(subject.pid()) - before_ms - ticks_ms) * 1e3 / static_cast<double>(count);
  figures.p50_ms = trips.Percentile(50);
  figures.p99_ms = trips.Percentile(99);
  return figures;
}

using ThreadCosts = std::map<std::string, double>;  // CPU per second in ms, by name.

// All measurements of one node.
struct NodeFigures {
  Page page;
  Pair embedded;
  Pair remote;
  ThreadCosts tick_cpu_ms_by_thread;  // Of podgpu with the embedded engine.
  ThreadCosts wakeups_by_thread;      // The same, per second.
  ThreadCosts faults_by_thread;
  Page nvml_page;
  Figures nvml;
  ThreadCosts nvml_tick_cpu_ms_by_thread;
  double nvml_first_page_ms = 0;
  double embedded_first_page_ms = 0;
  double remote_first_page_ms = 0;
  ScrapeFigures plain;
  ScrapeFigures gzip;
  Memory after_scrapes;
  double stop_serving_ms = 0;
  double stop_hung_ms = 0;
};

class NodeCost {
 public:
  NodeCost(const NodeSize& size, const char* name)
      : name_(name), node_(files_.Write("node.yaml", ScenarioOf(size)), SimNode::Pace::kReal) {
    PODGPU_CHECK(node_.ready());
    const std::string counters = "-f=" + files_.Write("counters.csv", SixtyCounters());
    const std::string socket = node_.engine_socket();
    Say("starting");
    embedded_probe_.emplace(node_, "-");
    remote_probe_.emplace(node_, socket);
    // All device families; views_cost measures smaller views.
    const std::string views = "--metrics-views=dcgm,native,self";
    embedded_.emplace(node_, std::vector{counters, views});
    remote_.emplace(node_, std::vector{counters, views, "-r=unix://" + socket});
    nvml_.emplace(node_, std::vector<std::string>{counters, views, "--libdcgm=", "--source=nvml"});
  }

  NodeFigures Measure(size_t plain_scrapes, size_t gzip_scrapes) {
    NodeFigures figures;
    figures.embedded_first_page_ms = embedded_->first_page_ms();
    figures.remote_first_page_ms = remote_->first_page_ms();
    MeasureQuiet(figures);
    figures.page = PageOf(embedded_->port());
    figures.nvml_page = PageOf(nvml_->port());
    figures.nvml_first_page_ms = nvml_->first_page_ms();
    Say("scraping");
    const double tick_ms = figures.embedded.whole.tick_cpu_ms;
    figures.plain = Scrape(*embedded_, Scraper::Encoding::kPlain, plain_scrapes, tick_ms);
    figures.gzip = Scrape(*embedded_, Scraper::Encoding::kGzip, gzip_scrapes, tick_ms);
    Wait(kSettleMs);
    figures.after_scrapes = MemoryOf(embedded_->pid());
    Say("stopping");
    const Scraper open_connection(embedded_->port(), Scraper::Encoding::kPlain);
    figures.stop_serving_ms = embedded_->StopMs();
    const pid_t engine = node_.engine_pid();
    ::kill(engine, SIGSTOP);
    Wait(kSettleMs);  // Three readings, so one of them hangs now.
    figures.stop_hung_ms = remote_->StopMs();
    ::kill(engine, SIGCONT);
    return figures;
  }

 private:
  void Say(const char* what) const {
    std::printf("node_cost: %s: %s\n", name_, what);
    std::fflush(stdout);
  }

  static ThreadCosts PerSecond(const ThreadCosts& before, const ThreadCosts& after,
                               double seconds) {
    ThreadCosts costs;
    for (const auto& [name, used_ms] : after) {
      const auto first = before.find(name);
      costs[name] = (used_ms - (first == before.end() ? 0 : first->second)) / seconds;
    }
    return costs;
  }

  // Sizes, and CPU per second without scrapes; a few scrapes come first, so the gzip of a page was
  // made before.
  void MeasureQuiet(NodeFigures& figures) {
    for (Subject* subject : {&*embedded_, &*remote_, &*nvml_}) {
      Scraper scraper(subject->port(), Scraper::Encoding::kGzip);
      for (size_t i = 0; i < kWarmUpScrapes; ++i) {
        PODGPU_CHECK(scraper.Fetch() > 0);
      }
    }
    Say("waiting until the pods count as quiet");
    Wait(kUntilPodsAreQuietMs);
    Say("quiet");
    const std::array<pid_t, 5> pids = {embedded_->pid(), embedded_probe_->pid(), remote_->pid(),
                                       remote_probe_->pid(), nvml_->pid()};
    std::array<double, 5> cpu_ms{};
    const ThreadCosts threads = CpuMsByThread(pids[0]);
    const ThreadCosts wakeups = WakeupsByThread(pids[0]);
    const ThreadCosts faults = MinorFaultsByThread(pids[0]);
    const ThreadCosts nvml_threads = CpuMsByThread(pids[4]);
    const Instant start = SystemClock().Now();
    for (size_t i = 0; i < pids.size(); ++i) {
      cpu_ms[i] = CpuMsOf(pids[i]);
    }
    Wait(kQuietSeconds * 1000);
    const double seconds = MsSince(start) / 1e3;
    for (size_t i = 0; i < pids.size(); ++i) {
      cpu_ms[i] = (CpuMsOf(pids[i]) - cpu_ms[i]) / seconds;
    }
    figures.tick_cpu_ms_by_thread = PerSecond(threads, CpuMsByThread(pids[0]), seconds);
    figures.wakeups_by_thread = PerSecond(wakeups, WakeupsByThread(pids[0]), seconds);
    figures.faults_by_thread = PerSecond(faults, MinorFaultsByThread(pids[0]), seconds);
    figures.nvml_tick_cpu_ms_by_thread = PerSecond(nvml_threads, CpuMsByThread(pids[4]), seconds);
    figures.embedded = {embedded_->Take(cpu_ms[0]), embedded_probe_->Take(cpu_ms[1])};
    figures.remote = {remote_->Take(cpu_ms[2]), remote_probe_->Take(cpu_ms[3])};
    figures.nvml = nvml_->Take(cpu_ms[4]);
  }

  const char* name_;
  TemporaryFolder files_;
  SimNode node_;
  std::optional<Probe> embedded_probe_, remote_probe_;
  std::optional<Subject> embedded_, remote_, nvml_;
};

// -- tables

struct Row {
  const char* name;
  double Figures::*figure;
  const char* budget;
};

constexpr std::array kRows = {
    Row{"resident memory, MiB", &Figures::resident_mib, "18"},
    Row{"  private dirty, MiB", &Figures::private_dirty_mib, "6"},
    Row{"threads", &Figures::threads, "10"},
    Row{"open descriptors", &Figures::descriptors, ""},
    Row{"CPU until the first full page, ms", &Figures::start_cpu_ms, "25"},
    Row{"CPU per tick, ms", &Figures::tick_cpu_ms, "0.3 at 480 series, 3 at 6,720"},
};

void PrintScrapes(const char* name, const ScrapeFigures& scrapes) {
  std::printf("%-34s %8.1f us CPU, p50 %.3f ms, p99 %.3f ms (%zu scrapes of %zu bytes)\n", name,
              scrapes.cpu_us, scrapes.p50_ms, scrapes.p99_ms, scrapes.count, scrapes.bytes);
}

void PrintThreads(const char* name, const ThreadCosts& costs) {
  std::printf("%-34s ", name);
  for (const auto& [thread, cpu_ms] : costs) {
    std::printf(" %s %.2f", thread.c_str(), cpu_ms);
  }
  std::printf("\n");
}

// All of the process, the simulated library included.
void PrintNvml(const NodeFigures& figures) {
  std::printf("with NVML alone, the vendor's share included: %zu series, of them %zu DCGM_\n",
              figures.nvml_page.series, figures.nvml_page.dcgm_series);
  for (const Row& row : kRows) {
    std::printf("%-34s %9.2f\n", row.name, figures.nvml.*row.figure);
  }
  PrintThreads("  by thread, ms", figures.nvml_tick_cpu_ms_by_thread);
  std::printf("%-34s %8.0f ms\n", "start to the first full page", figures.nvml_first_page_ms);
}

void Print(const char* name, const NodeFigures& figures) {
  std::printf("\n%s: %zu series, of them %zu DCGM_; page of %zu bytes\n", name, figures.page.series,
              figures.page.dcgm_series, figures.page.bytes);
  std::printf("%-34s %27s   %27s\n", "", "embedded engine", "remote engine");
  std::printf("%-34s %9s%9s%9s   %9s%9s%9s   %s\n", "", "podgpu", "vendor", "own", "podgpu",
              "vendor", "own", "budget (own)");
  for (const Row& row : kRows) {
    std::printf("%-34s ", row.name);
    for (const Pair* pair : {&figures.embedded, &figures.remote}) {
      std::printf("%9.2f%9.2f%9.2f   ", pair->whole.*row.figure, pair->vendor.*row.figure,
                  pair->own().*row.figure);
    }
    std::printf("%s\n", row.budget);
  }
  PrintThreads("  podgpu's threads, embedded, ms", figures.tick_cpu_ms_by_thread);
  PrintThreads("  their wake-ups", figures.wakeups_by_thread);
  PrintThreads("  their minor page faults", figures.faults_by_thread);
  std::printf("%-34s %8.0f ms embedded, %.0f ms remote; budget 1,000\n",
              "start to the first full page", figures.embedded_first_page_ms,
              figures.remote_first_page_ms);
  PrintScrapes("scrape, plain", figures.plain);
  PrintScrapes("scrape, gzip, cached", figures.gzip);
  std::printf("%-34s %8.2f MiB resident, %.2f private dirty\n", "podgpu after these scrapes",
              figures.after_scrapes.resident_kib / kKibPerMib,
              figures.after_scrapes.private_dirty_kib / kKibPerMib);
  std::printf("%-34s %8.0f ms while serving, %.0f ms with a hung engine; budget 2,000\n",
              "stop after SIGTERM", figures.stop_serving_ms, figures.stop_hung_ms);
  PrintNvml(figures);
}

void PrintExponents(const NodeFigures& small, const NodeFigures& large) {
  const auto exponent = [&](double Figures::*figure) {
    return GrowthExponent({{static_cast<double>(small.page.series), small.embedded.own().*figure},
                           {static_cast<double>(large.page.series), large.embedded.own().*figure}});
  };
  std::printf(
      "growth exponent by series: CPU per tick %.2f, resident memory %.2f, private dirty "
      "%.2f; budget 1.0\n",
      exponent(&Figures::tick_cpu_ms), exponent(&Figures::resident_mib),
      exponent(&Figures::private_dirty_mib));
}

void PrintGrowth(const NodeFigures& small, const NodeFigures& large) {
  const double series = static_cast<double>(large.page.series - small.page.series);
  std::printf("\ngrowth per further series, bytes:");
  for (const auto& [name, few, many] : {std::tuple{"embedded", &small.embedded, &large.embedded},
                                        std::tuple{"remote", &small.remote, &large.remote}}) {
    const double mib = many->own().resident_mib - few->own().resident_mib;
    std::printf(" %s %.0f", name, mib * kKibPerMib * 1024 / series);
  }
  std::printf("; budget 1,500\n");
}

int Run() {
  constexpr size_t kScrapes = 10'000;
  constexpr size_t kLargeScrapes = 2'000;  // Of 2 MB each.
  constexpr const char* kSmall = "8 GPUs, 60 fields, 8 pods";
  constexpr const char* kLarge = "16 GPUs in 7 MIG instances each, 60 fields, 112 pods";
  const NodeFigures small =
      NodeCost({.gpus = 8, .instances_per_gpu = 0}, kSmall).Measure(kScrapes, kScrapes);
  const NodeFigures large =
      NodeCost({.gpus = 16, .instances_per_gpu = 7}, kLarge).Measure(kLargeScrapes, kScrapes);
  Print(kSmall, small);
  Print(kLarge, large);
  PrintGrowth(small, large);
  PrintExponents(small, large);
  return 0;
}

}  // namespace
}  // namespace podgpu

int main() { return podgpu::Run(); }
