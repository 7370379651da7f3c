// The cost of the views: the number of series of each on the page of a node, as the tick makes it.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "exporter/exporter.h"
#include "tests/node_fixture.h"

namespace podgpu {
namespace {

// The first full page of a node with a pod on each device, with the built-in list of metrics.
class ViewsNode {
 public:
  ViewsNode(size_t gpus, size_t instances_per_gpu, const std::vector<View>& views) {
    const std::vector<Counter> counters = CountersOf(DefaultCountersCsv());
    auto grid = std::make_shared<Grid>(
        FilledGrid(MakeTopology(gpus, instances_per_gpu), FieldsToRead(counters, views)));
    grid->read_at = clock_.Now();
    auto pods = std::make_shared<PodFacts>();
    pods->state = PartState::kOk;
    pods->good_at = clock_.Now();
    pods->value = std::make_shared<const PodAllocations>(Allocations(grid->topology()));
    pods_.Set(std::move(pods));
    source_.Set(
        std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "driver", 1, 0, gpus}));
    grids_.Set(std::move(grid));
    TickOptions options;
    options.counters = counters;
    options.views = views;
    options.view.kubernetes = true;
    Tick tick(std::move(options),
              TickSources{grids_, source_, pods_, guard_, written_off_, clients_}, clock_, wakeup_);
    tick.Once();
    page_ = tick.snapshots().Get()->text();
  }

  // By the beginning of their names: "DCGM_", "podgpu_" and so on.
  size_t CountOf(std::string_view prefix) const {
    size_t count = 0;
    for (const std::string_view line : Split(page_, '\n')) {
      count += line.starts_with(prefix) && !line.starts_with('#') && !line.empty() ? 1U : 0U;
    }
    return count;
  }
  const std::string& page() const { return page_; }

 private:
  static PodAllocations Allocations(const Topology& topology) {
    PodAllocations answer{"v1", 0, {}, {}};
    for (const Gpu& gpu : topology.gpus) {
      answer.allocations.push_back(
          {"ml", "train-" + std::to_string(gpu.gpu_id), "main", "nvidia.com/gpu", gpu.uuid});
      ++answer.pod_count;
    }
    return answer;
  }

  ManualClock clock_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, std::chrono::seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> pods_;
  std::string page_;
};

TEST(Views, TheDefaultPageHasAtMostTwoFifthsMoreSeriesThanDcgmExporter) {
  // dcgm-exporter's rows for 8 GPUs with its default list, on DCGM 4.6: 23 rows per GPU.
  constexpr size_t kUpstreamRows = 184;
  const ViewsNode node(8, 0, TickOptions().views);
  const size_t of_dcgm = node.CountOf("DCGM_");
  const size_t of_ours = node.CountOf("") - of_dcgm;
  EXPECT_GE(of_dcgm, kUpstreamRows);
  EXPECT_LE(of_ours * 10, kUpstreamRows * 4) << node.page();
  EXPECT_EQ(node.CountOf("podgpu_gpu_info{"), 8U);
  EXPECT_EQ(node.CountOf("podgpu_allocation_info{"), 8U);
  EXPECT_EQ(node.CountOf("podgpu_gpu_state{"), 8U);
}

TEST(Views, TheDcgmViewHasNoFamilyOfPodgpu) {
  const ViewsNode node(8, 0, {View::kDcgm});
  EXPECT_EQ(node.CountOf(""), node.CountOf("DCGM_"));
}

TEST(Views, HaveNoZeroLineForAReasonThatNeverOccurred) {
  const ViewsNode node(8, 0, TickOptions().views);
  for (const std::string_view line : Split(node.page(), '\n')) {
    const bool has_reason = line.find("reason=\"") != std::string_view::npos ||
                            line.find("state=\"") != std::string_view::npos ||
                            line.find("result=\"") != std::string_view::npos;
    EXPECT_FALSE(has_reason && line.ends_with(" 0")) << line;
  }
}

}  // namespace
}  // namespace podgpu
