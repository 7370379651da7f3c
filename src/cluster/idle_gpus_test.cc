#include "cluster/idle_gpus.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

DeviceUse UseWith(std::optional<double> percent, std::optional<double> sm, int owners) {
  DeviceUse use;
  if (percent) {
    use.values[static_cast<size_t>(UseMeasure::kUtilization)] = UseValue{*percent, 0};
  }
  if (sm) {
    use.values[static_cast<size_t>(UseMeasure::kSmActive)] = UseValue{*sm, 0};
  }
  for (int i = 0; i < owners; ++i) {
    use.owners.push_back({"ml", "pod-" + std::to_string(i), "main", "nvidia.com/gpu", ""});
  }
  return use;
}

ReportedGpu GpuWith(DeviceUse use) {
  ReportedGpu gpu;
  gpu.uuid = "GPU-1";
  gpu.use = std::move(use);
  return gpu;
}

TEST(IdleGpu, IsHeldAndKnownToDoNothing) {
  struct Row {
    const char* name;
    std::optional<double> percent, sm;
    int owners;
    bool is_idle;
    std::optional<double> activity;
  };
  const Row rows[] = {
      {"free", 0, 0, 0, false, 0},
      {"held, nothing known", {}, {}, 1, false, {}},
      {"held, utilisation alone", 0, {}, 1, true, 0},
      {"held, a little of the time", 0.5, 0.004, 1, true, 0.004},
      {"held, one multiprocessor all the time", 100, 0.005, 1, false, 0.005},
      {"held by two", 0, 0, 2, true, 0},
      {"measured above all there is", 100, 1.03, 1, false, 1},
  };
  for (const Row& row : rows) {
    const ReportedGpu gpu = GpuWith(UseWith(row.percent, row.sm, row.owners));
    EXPECT_EQ(IsIdle(gpu), row.is_idle) << row.name;
    EXPECT_EQ(IsHeld(gpu), row.owners > 0) << row.name;
    EXPECT_EQ(ActivityOf(gpu), row.activity) << row.name;
  }
  ReportedGpu hidden = GpuWith(UseWith(0, {}, 0));
  hidden.use.hidden_owners = 1;
  EXPECT_TRUE(IsIdle(hidden));
}

TEST(IdleGpu, InMigModeIsIdleWhenAllHeldInstancesAreIdle) {
  ReportedGpu gpu = GpuWith(DeviceUse());
  gpu.instances = {{7, "1g", {}, UseWith({}, 0, 1)}, {8, "1g", {}, UseWith({}, {}, 0)}};
  EXPECT_TRUE(IsIdle(gpu));
  EXPECT_EQ(ActivityOf(gpu), 0);
  gpu.instances[1].use = UseWith({}, {}, 1);
  EXPECT_FALSE(IsIdle(gpu)) << "the activity of a held instance is not known";
  gpu.instances[1].use = UseWith({}, 0.4, 1);
  EXPECT_FALSE(IsIdle(gpu));
  EXPECT_EQ(ActivityOf(gpu), 0.4);
}

TEST(IdleSpell, EndsWhenTheHoldersChange) {
  NodeReport report;
  report.gpus = {GpuWith(UseWith(0, {}, 1))};
  const Instant start{};
  const IdleSpells first = ContinueIdle({}, nullptr, report, start);
  ASSERT_EQ(first, (IdleSpells{{"GPU-1", start}}));
  EXPECT_EQ(ContinueIdle(first, &report, report, start + seconds(15)), first);

  NodeReport used = report;
  used.gpus[0].use = UseWith(80, {}, 1);
  EXPECT_EQ(ContinueIdle(first, &report, used, start + seconds(15)), IdleSpells());

  NodeReport other = report;
  other.gpus[0].use = UseWith(0, {}, 2);
  EXPECT_EQ(ContinueIdle(first, &report, other, start + seconds(15)),
            (IdleSpells{{"GPU-1", start + seconds(15)}}));
}

}  // namespace
}  // namespace podgpu
