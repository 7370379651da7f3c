// The number of replicas follows the load, and the table in docs/autoscaling.md is what happened.
// PODGPU_UPDATE_GOLDEN=1 rewrites it.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "tests/autoscaling/scaling_run.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

constexpr const char* kDocument = "docs/autoscaling.md";
constexpr std::string_view kBegin = "<!-- scaling: made by a test -->\n";
constexpr std::string_view kEnd = "<!-- end of scaling -->\n";
constexpr seconds kRow{60};

const std::vector<ScalingStep>& InUse() {
  static const std::vector<ScalingStep> kSteps = RunScaling(ScalingSignal::kInUse);
  return kSteps;
}
const std::vector<ScalingStep>& AllGpus() {
  static const std::vector<ScalingStep> kSteps = RunScaling(ScalingSignal::kAllGpus);
  return kSteps;
}

const ScalingStep& At(const std::vector<ScalingStep>& steps, seconds at) {
  return *std::ranges::find(steps, at, &ScalingStep::at);
}

std::string Table() {
  std::string table =
      "| minute | load, in GPUs | `avg_gpu_utilization` | replicas | each uses its GPU | mean over "
      "all 8 GPUs | replicas by that mean | each uses its GPU "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (seconds at{0}; at <= kScalingEnds; at += kRow) {
    const ScalingStep& good = At(InUse(), at);
    const ScalingStep& naive = At(AllGpus(), at);
    table += absl::StrFormat("| %d | %.1f | %.0f %% | %d | %d %% | %.0f %% | %d | %d %% |\n",
                             at.count() / 60, good.load, good.value, good.replicas, good.busy,
                             naive.value, naive.replicas, naive.busy);
  }
  return table;
}

// The promise of the utilisation exporter that the cluster role replaces: idle GPUs do not lower
// the mean, so the number of replicas is what the load needs.
TEST(Scaling, TheMeanOverTheGpusInUseGivesTheReplicasThatTheLoadNeeds) {
  const ScalingStep& before = At(InUse(), kRises);
  EXPECT_EQ(before.replicas, 1) << "half a GPU of load, 60 % for each";
  const ScalingStep& high = At(InUse(), kFalls);
  EXPECT_EQ(high.replicas, 7) << "4.2 GPUs of load, 60 % for each";
  EXPECT_NEAR(high.value, kScalingTarget, kScalingTarget / 10);
  EXPECT_EQ(InUse().back().replicas, 1);
}

TEST(Scaling, RisesWithTheLoadAndNeverFallsMeanwhile) {
  for (const ScalingStep& step : InUse()) {
    if (step.at < kIsHigh) {
      EXPECT_GE(step.replicas_next, step.replicas) << step.at.count();
    }
    EXPECT_TRUE(step.replicas >= 1 && step.replicas <= kScalingMost) << step.at.count();
  }
  const ScalingStep& risen = At(InUse(), kIsHigh + seconds(60));
  EXPECT_LT(risen.busy, 75) << "a minute after the load was high, no replica is overloaded";
}

TEST(Scaling, FallsOnlyAfterTheStabilisationWindow) {
  for (const ScalingStep& step : InUse()) {
    if (step.at > kFalls && step.at < kFalls + kScalingDownWindow) {
      EXPECT_GE(step.replicas_next, At(InUse(), kFalls).replicas_next) << step.at.count();
    }
  }
  EXPECT_EQ(At(InUse(), kIsLow + kScalingDownWindow + seconds(90)).replicas_next, 1);
}

TEST(Scaling, TheMeanOverAllGpusWouldNeverHaveScaled) {
  for (const ScalingStep& step : AllGpus()) {
    EXPECT_EQ(step.replicas_next, 1) << step.at.count();
    EXPECT_LE(step.value, kScalingTarget / 4) << step.at.count();
  }
  EXPECT_EQ(At(AllGpus(), kFalls).busy, 100) << "although its only replica is overloaded";
}

TEST(Scaling, EqualsTheDocument) {
  std::ifstream file(kDocument);
  std::string document(std::istreambuf_iterator<char>(file), {});
  const size_t begin = document.find(kBegin);
  const size_t end = document.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const size_t at = begin + kBegin.size();
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    document.replace(at, end - at, Table());
    std::ofstream(kDocument) << document;
  } else {
    EXPECT_EQ(document.substr(at, end - at), Table()) << "run with PODGPU_UPDATE_GOLDEN=1";
  }
}

}  // namespace
}  // namespace podgpu
