// A new pod gets the name of one that has ended, and another GPU; the kubelet's earlier answer is
// about the old pod.
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/text.h"
#include "exporter/tick.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Two GPUs, one of them held by ml/a, and an API server that knows the uid of that pod.
class YoungerPodsTest : public ::testing::Test {
 protected:
  YoungerPodsTest() {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
    topology->epoch = 1;
    auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(150)});
    for (uint16_t i = 0; i < 2; ++i) {
      grid->at(FieldRow{0}, EntityId{i}) = Value::OfInt64(45, 500);
    }
    grids_.Set(grid);
    source_.Set(std::make_shared<const SourceStatus>());
    TickOptions options;
    options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\n", "t.csv").value().counters;
    options.views = {View::kDcgm};
    options.view.kubernetes = true;
    options.view.pod_uid = true;
    tick_.emplace(std::move(options),
                  TickSources{grids_,
                              source_,
                              kubelet_,
                              guard_,
                              written_off_,
                              clients_,
                              {.api_pods = &api_, .kubelet = &next_request_}},
                  clock_, wakeup_);
  }

  void GiveGpu(uint32_t gpu) {
    PodFacts facts;
    facts.value = std::make_shared<const PodAllocations>(
        PodAllocations{"v1", 1, {{"ml", "a", "main", "nvidia.com/gpu", FakeDriver::Uuid(gpu)}}});
    facts.asked_at = facts.good_at = clock_.Now();
    facts.state = PartState::kOk;
    kubelet_.Set(std::make_shared<const PodFacts>(facts));
  }
  void TellUid(const std::string& uid) {
    ApiObject pod;
    pod.name_space = "ml";
    pod.name = "a";
    pod.uid = uid;
    ApiFacts facts;
    facts.state = PartState::kOk;
    facts.value = std::make_shared<const ApiObjects>(ApiObjects{{"ml/a", pod}});
    renewed_.Take(*facts.value, clock_.Now());
    facts.renewed = renewed_.at();
    api_.Set(std::make_shared<const ApiFacts>(facts));
  }
  // Returns the labels on the row of a GPU.
  std::string LabelsOf(const std::string& gpu) {
    tick_->Once();
    for (const std::string_view line : Split(tick_->snapshots().Get()->text(), '\n')) {
      if (line.starts_with("DCGM_FI_DEV_GPU_TEMP{gpu=\"" + gpu + '"')) {
        return std::string(line);
      }
    }
    return {};
  }
  bool Has(const std::string& gpu, const std::string& label) {
    return LabelsOf(gpu).find(label) != std::string::npos;
  }

  // Whether the tick has asked for a newer answer of the kubelet.
  bool WantsAnAnswer() {
    Alarm alarm;
    return Wakeup::Listener(&next_request_, alarm).is_nudged();
  }

  ManualClock clock_;
  Wakeup next_request_;
  Wakeup wakeup_;
  CallGuard guard_{clock_, seconds(10)};
  std::atomic<int> written_off_ = 0;
  HttpCounters clients_;
  Published<Grid> grids_;
  Published<SourceStatus> source_;
  Published<PodFacts> kubelet_;
  Published<ApiFacts> api_;
  RenewedPods renewed_;
  std::optional<Tick> tick_;
};

TEST_F(YoungerPodsTest, GetTheirUidOnlyOnDevicesOfANewerKubeletAnswer) {
  GiveGpu(0);
  TellUid("u-1");
  EXPECT_TRUE(Has("0", "pod_uid=\"u-1\"")) << LabelsOf("0");
  EXPECT_FALSE(WantsAnAnswer());
  clock_.Advance(seconds(1));
  TellUid("u-2");
  EXPECT_FALSE(Has("0", "u-2")) << LabelsOf("0");
  EXPECT_TRUE(Has("0", "pod=\"a\"")) << "the kubelet's answer";
  EXPECT_TRUE(WantsAnAnswer());
  clock_.Advance(seconds(1));
  GiveGpu(1);
  EXPECT_TRUE(Has("1", "pod_uid=\"u-2\"")) << LabelsOf("1");
  EXPECT_FALSE(Has("0", "pod=\"a\"")) << LabelsOf("0");
}

TEST_F(YoungerPodsTest, GetNoUidFromTheFirstListOfTheApiServerUntilTheKubeletAnswersAgain) {
  GiveGpu(0);
  clock_.Advance(seconds(1));
  TellUid("u-2");
  EXPECT_FALSE(Has("0", "u-2")) << "the kubelet may have answered about a pod before it";
  EXPECT_TRUE(WantsAnAnswer());
  clock_.Advance(seconds(1));
  GiveGpu(0);
  EXPECT_TRUE(Has("0", "pod_uid=\"u-2\"")) << LabelsOf("0");
}

}  // namespace
}  // namespace podgpu
