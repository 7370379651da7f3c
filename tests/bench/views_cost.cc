// views_cost: the number of series and bytes of each view on the page of a node.
//
// On each simulated node podgpu runs with the built-in list of metrics, once with each view alone
// and once with the default views, until the page is complete.  "of dcgm" is the number of series
// relative to dcgm-exporter's rows.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "tests/bench/bench_node.h"
#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

struct ViewsPage {
  size_t series = 0;
  size_t bytes = 0;
};

ViewsPage Measure(const std::string& body) {
  ViewsPage page{.bytes = body.size()};
  for (const std::string_view line : Split(body, '\n')) {
    page.series += !line.empty() && line.front() != '#' ? 1U : 0U;
  }
  return page;
}

struct Views {
  const char* flag;  // Empty: the default.
  // The last families to appear on its page: profiling values, pods, the state of podgpu itself.
  std::vector<const char*> last;
};

ViewsPage PageOf(const SimNode& node, const Views& views) {
  std::vector<std::string> flags;
  if (views.flag[0] != '\0') {
    flags.push_back("--metrics-views=" + std::string(views.flag));
  }
  const ExporterProcess exporter(node, flags);
  PODGPU_CHECK(exporter.ready());
  for (const char* last : views.last) {
    PODGPU_CHECK(exporter.Await("/metrics", last));
  }
  return Measure(exporter.Get("/metrics"));
}

void MeasureViews(const NodeSize& size, const char* name) {
  const TemporaryFolder files;
  const SimNode node(files.Write("node.yaml", ScenarioOf(size)), SimNode::Pace::kReal);
  PODGPU_CHECK(node.ready());
  const char* const profiling = "\nDCGM_FI_PROF_DRAM_ACTIVE{";
  const char* const pods = "\npodgpu_allocation_info{";
  const char* const ready = "\npodgpu_ready 1\n";
  const Views all[] = {{"dcgm", {profiling, "pod=\"train-0\""}},
                       {"core", {pods}},
                       {"native", {"\npodgpu_gpu_dram_active_ratio{", pods}},
                       {"self", {ready}},
                       {"", {profiling, pods, ready}},
                       {"dcgm,native,self", {profiling, pods, ready}}};
  std::printf("\n%s\n%-20s %8s %10s %8s\n", name, "view", "series", "bytes", "of dcgm");
  size_t of_dcgm = 0;
  for (const Views& views : all) {
    const ViewsPage page = PageOf(node, views);
    of_dcgm = of_dcgm == 0 ? page.series : of_dcgm;
    std::printf("%-20s %8zu %10zu %6.2f x\n", views.flag[0] == '\0' ? "(default)" : views.flag,
                page.series, page.bytes,
                static_cast<double>(page.series) / static_cast<double>(of_dcgm));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace podgpu

int main() {
  std::printf("views_cost: the page of /metrics by view, with the built-in list of metrics\n");
  podgpu::MeasureViews({.gpus = 8}, "8 GPUs, a pod on each");
  podgpu::MeasureViews({.gpus = 16, .instances_per_gpu = 7},
                       "16 GPUs in 7 MIG instances each, a pod on each instance");
}
