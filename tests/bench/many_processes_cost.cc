// many_processes_cost: the cost of podgpu on a node with many GPU processes, as their number grows.
//
// On a simulated node of 16 H100s that run 100, 1,000 and 2,000 processes, podgpu reads devices and
// processes once a second over NVML, with all of their lines on the page.  CPU is the threads' time
// from the kernel: `nvml` and `nvml-processes` are in the vendor's library most of the time,
// `processes` reads /proc, `tick` accounts and makes the page.  The result is how these grow; CPU
// budgets are those of a page of the same size.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/status.h"
#include "base/text.h"
#include "http/testing/loopback_client.h"
#include "tests/bench/process_cost.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

constexpr size_t kGpus = 16;  // A simulated GPU can run 128 processes.
constexpr size_t kProcessesPerPod = 5;
constexpr int kWarmUpMs = 5'000;
constexpr int kMeasuredS = 15;
constexpr double kKibInMib = 1024;

// Of pods with five processes each; all GPUs are shared by time.
std::string ManyProcesses(size_t count) {
  std::string text = absl::StrFormat(
      "format: 1\nname: many\n"
      "gpus: [{count: %d, class: h100-sxm5-80gb, sharing: {kind: time_slicing, replicas: 32}}]\n"
      "loads: {work: {phases: [{for: 1s, sm: 3%%, mem: 1%%}, {for: 1s, sm: 1%%}]}}\npods:\n",
      kGpus);
  for (size_t pod = 0; pod * kProcessesPerPod < count; ++pod) {
    absl::StrAppendFormat(&text,
                          "  - name: pod-%d\n    namespace: ml\n    containers:\n"
                          "      - name: main\n        devices: [\"gpu%d::%d\"]\n"
                          "        processes:\n",
                          pod, pod % kGpus, pod / kGpus);
    for (size_t i = 0; i < kProcessesPerPod; ++i) {
      absl::StrAppendFormat(&text, "          - {pid: %d, load: work, memory: 128MiB}\n",
                            10'000 + pod * kProcessesPerPod + i);
    }
  }
  return text;
}

struct CostOfMany {
  size_t processes = 0;
  size_t series = 0;
  size_t page_bytes = 0;
  double resident_mib = 0;
  double private_dirty_mib = 0;
  double threads = 0;
  std::map<std::string, double> cpu_ms_by_thread;  // In a second.
  double cpu_ms = 0;                               // Of all of them.

  double Of(const std::string& thread) const {
    const auto found = cpu_ms_by_thread.find(thread);
    return found == cpu_ms_by_thread.end() ? 0 : found->second;
  }
};

size_t CountLines(std::string_view page, std::string_view begin) {
  size_t count = 0;
  for (const std::string_view line : Split(page, '\n')) {
    count += !line.empty() && line.front() != '#' && line.starts_with(begin) ? 1U : 0U;
  }
  return count;
}

// Lets the simulated /proc answer as that of podgpu's own pid namespace, in which no process starts
// meanwhile.
void ShowLastPid(const std::string& proc_root, pid_t reader) {
  std::filesystem::create_symlink(std::to_string(reader), proc_root + "/self");
  std::ofstream(proc_root + "/loadavg") << "0.10 0.20 0.30 2/1500 20000\n";
}

CostOfMany MeasureMany(size_t processes) {
  std::printf("many_processes_cost: %zu processes\n", processes);
  std::fflush(stdout);
  const TemporaryFolder files;
  const SimNode node(files.Write("many.yaml", ManyProcesses(processes)), SimNode::Pace::kReal);
  if (!node.ready()) {
    std::fprintf(stderr, "%s\n", node.output().c_str());
  }
  PODGPU_CHECK(node.ready());
  ExporterProcess exporter(node, {"--libdcgm=", "--source=nvml", "--process-metrics=on",
                                  "--proc-root=" + node.directory() + "/proc"});
  PODGPU_CHECK(exporter.ready());
  PODGPU_CHECK(exporter.AwaitPage("/metrics", [&](const std::string& body) {
    return CountLines(body, "my_gpu_process_active{") == processes;
  }));
  const pid_t pid = exporter.process().pid();
  ShowLastPid(node.directory() + "/proc", pid);
  ::poll(nullptr, 0, kWarmUpMs);
  const std::map<std::string, double> before_ms = CpuMsByThread(pid);
  const double all_before_ms = CpuMsOf(pid);
  ::poll(nullptr, 0, kMeasuredS * 1'000);
  CostOfMany cost;
  cost.processes = processes;
  cost.cpu_ms = (CpuMsOf(pid) - all_before_ms) / kMeasuredS;
  for (const auto& [thread, used_ms] : CpuMsByThread(pid)) {
    const auto earlier = before_ms.find(thread);
    cost.cpu_ms_by_thread[thread] =
        (used_ms - (earlier == before_ms.end() ? 0 : earlier->second)) / kMeasuredS;
  }
  const Memory memory = MemoryOf(pid);
  cost.resident_mib = memory.resident_kib / kKibInMib;
  cost.private_dirty_mib = memory.private_dirty_kib / kKibInMib;
  cost.threads = static_cast<double>(ThreadsOf(pid));
  const std::string page = exporter.Get("/metrics");
  cost.series = CountLines(page, "");
  cost.page_bytes = page.size();
  return cost;
}

void PrintMany(const std::vector<CostOfMany>& costs) {
  std::printf("\n%-40s", "processes on 16 GPUs");
  const auto row = [&](const char* name, const auto& figure) {
    std::printf("\n%-40s", name);
    for (const CostOfMany& cost : costs) {
      std::printf("%12.2f", static_cast<double>(figure(cost)));
    }
  };
  row("  count", [](const CostOfMany& cost) { return cost.processes; });
  row("series", [](const CostOfMany& cost) { return cost.series; });
  row("page, KB", [](const CostOfMany& cost) { return cost.page_bytes / 1'000; });
  row("resident, MiB", [](const CostOfMany& cost) { return cost.resident_mib; });
  row("  private dirty, MiB", [](const CostOfMany& cost) { return cost.private_dirty_mib; });
  row("threads", [](const CostOfMany& cost) { return cost.threads; });
  row("CPU a second, ms: tick", [](const CostOfMany& cost) { return cost.Of("tick"); });
  row("  processes (/proc)", [](const CostOfMany& cost) { return cost.Of("processes"); });
  row("  nvml-processes (vendor)",
      [](const CostOfMany& cost) { return cost.Of("nvml-processes"); });
  row("  nvml (vendor)", [](const CostOfMany& cost) { return cost.Of("nvml"); });
  row("  all threads", [](const CostOfMany& cost) { return cost.cpu_ms; });
  const CostOfMany& few = costs.front();
  const CostOfMany& many = costs.back();
  const auto more = static_cast<double>(many.series - few.series);
  const double mib = many.resident_mib - few.resident_mib;
  std::printf("\ngrowth per further series: %.0f bytes resident (budget 1,500), %.0f ns of tick\n",
              mib * kKibInMib * 1'024 / more, (many.Of("tick") - few.Of("tick")) * 1e6 / more);
}

// Of podgpu's own threads; what the vendor's library needs is not ours.
void PrintExponents(const std::vector<CostOfMany>& costs) {
  const auto exponent = [&](const auto& figure) {
    std::vector<std::pair<double, double>> points;
    for (const CostOfMany& cost : costs) {
      points.emplace_back(static_cast<double>(cost.processes), figure(cost));
    }
    return GrowthExponent(points);
  };
  std::printf(
      "growth exponent by processes: CPU of tick and processes %.2f, resident memory %.2f, "
      "private dirty %.2f; budget 1.0\n",
      exponent([](const CostOfMany& cost) { return cost.Of("tick") + cost.Of("processes"); }),
      exponent([](const CostOfMany& cost) { return cost.resident_mib; }),
      exponent([](const CostOfMany& cost) { return cost.private_dirty_mib; }));
}

int MeasureAll() {
  std::vector<CostOfMany> costs;
  for (const size_t processes : {100U, 1'000U, 2'000U}) {
    costs.push_back(MeasureMany(processes));
  }
  PrintMany(costs);
  PrintExponents(costs);
  return 0;
}

}  // namespace
}  // namespace podgpu

int main() { return podgpu::MeasureAll(); }
