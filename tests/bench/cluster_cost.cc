// cluster_cost: the cost of the cluster role, as the cluster grows.
//
// `podgpu-sim fleet` serves 100, 1,000 and 5,000 nodes of 8 GPUs, of which 10 % hang, 10 % refuse
// and 5 % send garbage; `podgpu cluster` asks all of them every 15 s, and a scraper reads /metrics
// as often, compressed, as a Prometheus would.  CPU is the threads' time from the kernel, so other
// work on the machine changes it little; the round trips are wall time and include all waiting.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "tests/bench/process_cost.h"
#include "tests/bench/scraper.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr int kRoundS = 15;
constexpr int kRounds = 4;
constexpr double kKibPerMebibyte = 1024;
constexpr double kRoundMs = kRoundS * 1e3;

struct CostOfCluster {
  size_t nodes = 0;
  double mapped = 0;      // Nodes that answer.
  double map_lines = 0;   // Pods and GPUs.
  double page_bytes = 0;  // Of /metrics, not compressed.
  double start_s = 0;     // Until every node had been asked.
  double cpu_ms = 0;      // Per round; the next one too.
  std::map<std::string, double> cpu_ms_by_thread;
  double good_fetches = 0;
  double resident_mib = 0;
  double peak_mib = 0;
  double scrape_p50_ms = 0;
  double scrape_most_ms = 0;

  double Of(const std::string& thread) const {
    const auto found = cpu_ms_by_thread.find(thread);
    return found == cpu_ms_by_thread.end() ? 0 : found->second;
  }
};

double PeakMibOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  double kib = 0;
  for (std::string word; file >> word;) {
    if (word == "VmHWM:") {
      file >> kib;
    }
  }
  return kib / kKibPerMebibyte;
}

// The values of all lines with this beginning.
double SumOf(const std::string& page, std::string_view begin) {
  double sum = 0;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with(begin)) {
      const std::string_view number = line.substr(line.rfind(' ') + 1);
      double value = 0;
      std::from_chars(number.data(), number.data() + number.size(), value);
      sum += value;
    }
  }
  return sum;
}

double GoodFetches(const std::string& page) {
  return SumOf(page, "podgpu_cluster_fetches_total{result=\"ok\"}") +
         SumOf(page, "podgpu_cluster_fetches_total{result=\"unchanged\"}");
}

uint16_t PortFrom(Child& cluster) {
  const std::optional<std::string> line = cluster.AwaitLine("msg=\"serving\"");
  PODGPU_CHECK(line.has_value());
  return static_cast<uint16_t>(
      ParseDecimal(std::string_view(*line).substr(line->find("port=") + 5)).value_or(0));
}

// Some rounds, each with one scrape on a connection of its own.
void MeasureRounds(pid_t pid, uint16_t port, CostOfCluster& cost) {
  const std::map<std::string, double> before_ms = CpuMsByThread(pid);
  const double all_before_ms = CpuMsOf(pid);
  const double fetched_before = GoodFetches(LoopbackClient(port).Fetch("/metrics").body);
  RoundTrips trips;
  for (int round = 0; round < kRounds; ++round) {
    ::poll(nullptr, 0, kRoundS * 1'000);
    PODGPU_CHECK(Scraper(port, Scraper::Encoding::kGzip).Fetch(trips) > 0);
  }
  cost.cpu_ms = (CpuMsOf(pid) - all_before_ms) / kRounds;
  for (const auto& [thread, used_ms] : CpuMsByThread(pid)) {
    const auto earlier = before_ms.find(thread);
    cost.cpu_ms_by_thread[thread] =
        (used_ms - (earlier == before_ms.end() ? 0 : earlier->second)) / kRounds;
  }
  cost.resident_mib = MemoryOf(pid).resident_kib / kKibPerMebibyte;
  cost.peak_mib = PeakMibOf(pid);
  cost.scrape_p50_ms = trips.Percentile(50);
  cost.scrape_most_ms = trips.Percentile(100);
  const std::string page = LoopbackClient(port).Fetch("/metrics").body;
  cost.page_bytes = static_cast<double>(page.size());
  cost.good_fetches = (GoodFetches(page) - fetched_before) / kRounds;
  cost.mapped = SumOf(page, "podgpu_cluster_nodes{state=\"ok\"}");
  cost.map_lines = SumOf(page, "pod_and_gpu_map_info{");
}

CostOfCluster MeasureCluster(size_t nodes) {
  std::printf("cluster_cost: %zu nodes\n", nodes);
  std::fflush(stdout);
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/nodes";
  Child fleet({PODGPU_BINARY_DIR "/bin/podgpu-sim", "fleet", "--nodes=" + std::to_string(nodes),
               "--port=0", "--hanging=10", "--refusing=10", "--garbage=5", "--nodes-file=" + file});
  PODGPU_CHECK(fleet.AwaitLine("ready").has_value());
  const SystemClock clock;
  const Instant start = clock.Now();
  Child cluster({PODGPU_BINARY_DIR "/bin/podgpu", "cluster", "-a=127.0.0.1:0",
                 "--nodes=file:" + file, absl::StrFormat("--node-interval=%ds", kRoundS)});
  const uint16_t port = PortFrom(cluster);
  PODGPU_CHECK(cluster.AwaitLine("verdict=\"ready: ").has_value());
  CostOfCluster cost;
  cost.nodes = nodes;
  cost.start_s = std::chrono::duration<double>(clock.Now() - start).count();
  ::poll(nullptr, 0, kRoundS * 1'000);  // After this time failing nodes are asked less often.
  MeasureRounds(cluster.pid(), port, cost);
  return cost;
}

void PrintClusters(const std::vector<CostOfCluster>& costs) {
  std::printf("\n%-40s", "cluster role, full map every 15 s");
  const auto row = [&](const char* name, const auto& figure) {
    std::printf("\n%-40s", name);
    for (const CostOfCluster& cost : costs) {
      std::printf("%12.2f", static_cast<double>(figure(cost)));
    }
  };
  using Cost = CostOfCluster;
  row("nodes of 8 GPUs", [](const Cost& cost) { return cost.nodes; });
  row("  of them answer", [](const Cost& cost) { return cost.mapped; });
  row("lines of the map", [](const Cost& cost) { return cost.map_lines; });
  row("page, KB", [](const Cost& cost) { return cost.page_bytes / 1e3; });
  row("until all nodes have been asked, s", [](const Cost& cost) { return cost.start_s; });
  row("answers taken in a round", [](const Cost& cost) { return cost.good_fetches; });
  row("CPU of a round, ms", [](const Cost& cost) { return cost.cpu_ms; });
  row("  share of one core, percent",
      [](const Cost& cost) { return cost.cpu_ms / kRoundMs * 100; });
  row("  nodes (asking, reading)", [](const Cost& cost) { return cost.Of("nodes"); });
  row("  tick (map, page)", [](const Cost& cost) { return cost.Of("tick"); });
  row("  http (one scrape, gzip)", [](const Cost& cost) { return cost.Of("http"); });
  row("  per node, ms",
      [](const Cost& cost) { return cost.cpu_ms / static_cast<double>(cost.nodes); });
  row("resident, MiB", [](const Cost& cost) { return cost.resident_mib; });
  row("  at most", [](const Cost& cost) { return cost.peak_mib; });
  row("scrape with gzip, ms: p50", [](const Cost& cost) { return cost.scrape_p50_ms; });
  row("  the slowest", [](const Cost& cost) { return cost.scrape_most_ms; });
  const Cost& few = costs.front();
  const Cost& many = costs.back();
  const auto more = static_cast<double>(many.nodes - few.nodes);
  std::printf("\ngrowth per further node: %.1f KiB resident, %.3f ms of CPU a round\n",
              (many.resident_mib - few.resident_mib) * kKibPerMebibyte / more,
              (many.cpu_ms - few.cpu_ms) / more);
}

void PrintExponents(const std::vector<CostOfCluster>& costs) {
  const auto exponent = [&](double CostOfCluster::*figure) {
    std::vector<std::pair<double, double>> points;
    for (const CostOfCluster& cost : costs) {
      points.emplace_back(static_cast<double>(cost.nodes), cost.*figure);
    }
    return GrowthExponent(points);
  };
  std::printf("growth exponent by nodes: CPU of a round %.2f, resident memory %.2f; budget 1.0\n",
              exponent(&CostOfCluster::cpu_ms), exponent(&CostOfCluster::resident_mib));
}

int MeasureClusters() {
  std::vector<CostOfCluster> costs;
  for (const size_t nodes : {100U, 1'000U, 5'000U}) {
    costs.push_back(MeasureCluster(nodes));
  }
  PrintClusters(costs);
  PrintExponents(costs);
  return 0;
}

}  // namespace
}  // namespace podgpu

int main() { return podgpu::MeasureClusters(); }
