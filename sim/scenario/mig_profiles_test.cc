// MIG: which layouts fit, how instances are numbered, and what they share.
#include "sim/scenario/mig_profiles.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "sim/scenario/gpu_classes.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

TEST(MigLayouts, NumberEntitiesInProfileOrderAndPlaceThemWithoutOverlap) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  struct Row {
    const char* profile;
    int entity_id, gpu_instance_id, start, profile_id, compute_slices, memory_slices;
  };
  // The list says 3g, 2g, 1g, 1g: a 1g cannot begin at the last slice, so the 3g moves there.
  constexpr std::array<Row, 4> kRows = {{{"1g.10gb", 42, 9, 2, 19, 1, 1},
                                         {"1g.10gb", 43, 10, 3, 19, 1, 1},
                                         {"2g.20gb", 44, 3, 0, 14, 2, 2},
                                         {"3g.40gb", 45, 2, 4, 9, 3, 4}}};
  ASSERT_TRUE(world->mig_enabled(6, 0));
  ASSERT_FALSE(world->mig_enabled(5, 0));
  ASSERT_EQ(world->instance_count(6, 0), 4);
  for (int i = 0; i < 4; ++i) {
    const Row& row = kRows.at(static_cast<size_t>(i));
    const GpuInstanceFacts facts = world->instance(6, i, 0);
    EXPECT_EQ(facts.profile, row.profile) << i;
    EXPECT_EQ(facts.dcgm_entity_id, row.entity_id) << i;
    EXPECT_EQ(facts.gpu_instance_id, row.gpu_instance_id) << i;
    EXPECT_EQ(facts.placement_start, row.start) << i;
    EXPECT_EQ(facts.profile_id, row.profile_id) << i;
    EXPECT_EQ(facts.compute_slices, row.compute_slices) << i;
    EXPECT_EQ(facts.memory_slices, row.memory_slices) << i;
    ASSERT_EQ(world->compute_count(6, i, 0), 1) << i;
    EXPECT_EQ(world->compute(6, i, 0, 0).dcgm_entity_id, row.entity_id) << i;
    EXPECT_EQ(world->compute(6, i, 0, 0).profile, row.profile) << i;
    EXPECT_TRUE(world->compute(6, i, 0, 0).mig_uuid.starts_with("MIG-")) << i;
  }
}

TEST(MigLayouts, HaveNoValuesForUnknownInstances) {
  const TestWorld world(ShippedScenario("h100x8-pods"));
  EXPECT_EQ(world->instance(6, 4, 0).profile, "");
  EXPECT_EQ(world->compute_count(6, 4, 0), 0);
  EXPECT_EQ(world->compute(6, 0, 1, 0).mig_uuid, "");
  EXPECT_EQ(world->MemoryUsedBytes({.gpu = 6, .instance = 9}, 0), 0);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {6, 0, 3}, kSecondUs), 0);
}

TEST(MigLayouts, FitEachProfileAsOftenAsTheChipAllows) {
  for (const GpuClass& row : GpuClasses()) {
    for (const MigProfile* profile : MigProfilesOf(row.mig_table)) {
      size_t most = 0;
      while (most < 8 && PlaceInstances(std::vector<MigRequest>(most + 1, {profile, {}}))) {
        ++most;
      }
      const size_t by_memory = static_cast<size_t>(8 / profile->memory_slices);
      const size_t by_compute = static_cast<size_t>(7 / profile->compute_slices);
      // A 1g with twice the memory, and a 2g: starts 0, 2, 4 (and 6); a 4g: start 0 alone.
      EXPECT_EQ(most, profile->compute_slices == 4 ? 1U : std::min(by_memory, by_compute))
          << row.name << " " << profile->name;
      EXPECT_LE(static_cast<int64_t>(most) * profile->memory_mib, row.memory_total_mib)
          << row.name << " " << profile->name;
    }
  }
}

TEST(MigLayouts, NumberEveryPlacementOfAChipDifferently) {
  for (const GpuClass& row : GpuClasses()) {
    for (const MigProfile* profile : MigProfilesOf(row.mig_table)) {
      std::set<int> ids;
      size_t count = 0;
      for (int start = 0; start < kMemorySlicesPerChip; ++start) {
        const std::vector<MigRequest> request = {{profile, start}};
        if (PlaceInstances(request)) {
          ids.insert(GpuInstanceId(*profile, start));
          ++count;
        }
      }
      EXPECT_EQ(ids.size(), count) << row.name << " " << profile->name;
      EXPECT_GT(count, 0U) << row.name << " " << profile->name;
    }
  }
}

TEST(MigLayouts, ShareAnInstanceAmongItsComputeInstances) {
  const TestWorld world(ShippedScenario("mig-mixed"));
  ASSERT_EQ(world->compute_count(0, 2, 0), 2);
  EXPECT_EQ(world->compute(0, 2, 0, 0).profile, "1c.3g.40gb");
  EXPECT_EQ(world->compute(0, 2, 1, 0).profile, "2c.3g.40gb");
  EXPECT_EQ(world->compute(0, 2, 1, 0).compute_instance_id, 1);
  // 90 % of one slice and 30 % of two, of the three that the instance has, of the chip's seven.
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2, 0}, kSecondUs), 90);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2, 1}, kSecondUs), 30);
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0, 2}, kSecondUs), 50);
  // The others: a 2g at 90 % and a 1g at 30 %: (1.5 + 1.8 + 0.3) / 7.
  EXPECT_EQ(world->UtilizationPercent(Integral::kSmPpmUs, {0}, kSecondUs), 51);
}

TEST(MigLayouts, ChangeOneGpuWithNewUuidsAndLeaveOthersUnchanged) {
  const TestWorld world(ShippedScenario("mig-mixed"));
  constexpr TimeUs kCut = 120 * kSecondUs;
  EXPECT_EQ(world->instance_count(2, kCut - 1), 2);
  ASSERT_EQ(world->instance_count(2, kCut), 3);
  EXPECT_EQ(world->instance(2, 0, kCut).profile, "2g.20gb");
  EXPECT_EQ(world->instance(2, 0, kCut).dcgm_entity_id, 14);
  EXPECT_EQ(world->instance(2, 2, kCut).profile, "3g.40gb");
  EXPECT_NE(world->compute(2, 2, 0, kCut).mig_uuid, world->compute(2, 0, 0, kCut - 1).mig_uuid);
  EXPECT_EQ(world->instance_count(1, kCut), 7);
}

}  // namespace
}  // namespace podgpu::sim
