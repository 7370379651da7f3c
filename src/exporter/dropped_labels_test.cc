// A pod with thousands of labels: any user who may create pods can set them, and each label would
// be on every row of a device.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "exporter/tick.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

std::shared_ptr<const ApiFacts> PodWithManyLabels() {
  auto pods = std::make_shared<ApiObjects>();
  for (int i = 0; i < 20'000; ++i) {
    (*pods)["ml/train-0"].labels.emplace_back("k" + std::to_string(10'000 + i), "v");
  }
  auto facts = std::make_shared<ApiFacts>();
  facts->value = pods;
  facts->state = PartState::kOk;
  facts->detail = "the API server lists 1 pod of this node";
  return facts;
}

// The kubelet's answer: the pod holds the second GPU.
std::shared_ptr<const PodFacts> KubeletsWord() {
  auto facts = std::make_shared<PodFacts>();
  facts->value = std::make_shared<const PodAllocations>(
      PodAllocations{"v1", 1, {{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}}});
  facts->state = PartState::kOk;
  return facts;
}

std::shared_ptr<const Grid> ReadingOfTwoGpus(Instant now) {
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
  topology->epoch = 1;
  auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(150)});
  grid->read_at = now;
  for (uint16_t i = 0; i < 2; ++i) {
    grid->at(FieldRow{0}, EntityId{i}) = Value::OfInt64(34, 500);
  }
  return grid;
}

TEST(DroppedLabels, AreReportedInTheLogOnThePageAndInTheState) {
  ManualClock clock;
  Wakeup wakeup;
  CallGuard guard(clock, std::chrono::seconds(10));
  std::atomic<int> written_off = 0;
  HttpCounters clients;
  Published<Grid> grids;
  Published<SourceStatus> source;
  Published<PodFacts> pods;
  Published<ApiFacts> api_pods;
  grids.Set(ReadingOfTwoGpus(clock.Now()));
  source.Set(
      std::make_shared<const SourceStatus>(SourceStatus{PartState::kOk, "fake driver", 1, 0, 2}));
  pods.Set(KubeletsWord());
  api_pods.Set(PodWithManyLabels());
  TickOptions options;
  options.period = options.stale_after = std::chrono::seconds(5);
  options.counters = ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\n", "test.csv").value().counters;
  options.views = {View::kDcgm, View::kSelf};
  options.view.kubernetes = true;
  options.join.pod_labels = LabelAllowlist::Compile({}).value();
  TickSources sources{grids, source, pods, guard, written_off, clients};
  sources.extra.api_pods = &api_pods;
  Tick tick(std::move(options), sources, clock, wakeup);

  testing::internal::CaptureStderr();
  tick.Once();
  tick.Once();
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string line =
      "a pod has more labels than a row can carry; the others are left out. Select labels with "
      "--kubernetes-pod-label-allowlist-regex\" pod=ml/train-0 left_out=19936 pods=1\n";
  EXPECT_NE(log.find(line), std::string::npos) << log;
  EXPECT_EQ(log.find(line), log.rfind(line)) << "logged once";
  const std::string page(tick.snapshots().Get()->text());
  EXPECT_NE(page.find("podgpu_pod_labels_dropped 19936\n"), std::string::npos);
  EXPECT_NE(page.find("k10063=\"v\""), std::string::npos);
  EXPECT_EQ(page.find("k10064=\"v\""), std::string::npos);
  const Condition condition = *tick.conditions().Get();
  const auto part = std::ranges::find(condition.parts, "pod metadata", &PartCondition::part);
  ASSERT_NE(part, condition.parts.end());
  EXPECT_EQ(part->state, PartState::kDegraded);
  EXPECT_NE(part->detail.find("19936 of ml/train-0 are left out"), std::string::npos)
      << part->detail;
}

}  // namespace
}  // namespace podgpu
