#include "process/pod_uses.h"

#include <memory>

#include <gtest/gtest.h>

#include "process/process_accounts.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// One GPU with one reading per second.
class PodUsesTest : public ::testing::Test {
 protected:
  PodUsesTest() {
    gpu_.counter_mj = 0;
    a_ = accounts_.pods().NumberOf("a", now_);
    b_ = accounts_.pods().NumberOf("b", now_);
  }
  static ListedProcess Process(uint32_t pid, const std::string& uid, uint64_t memory = 100) {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->key = {.pid = pid, .start_ticks = 1};
    identity->place = {.pod_uid = uid, .container_id = "c" + uid};
    return {.pid = pid, .memory_bytes = memory, .identity = identity};
  }
  void Take(Duration step = seconds(1)) {
    now_ += step;
    wall_ += std::chrono::duration_cast<std::chrono::microseconds>(step);
    gpu_.at = now_;
    *gpu_.counter_mj += 1'000;
    accounts_.Take({.at = now_, .wall = wall_, .devices = {gpu_}});
  }
  const PodUse& Of(PodNumber pod) const { return accounts_.uses().all().at({pod, gpu_.device}); }

  ProcessAccounts accounts_{ProcessTableOptions{}, LedgerOptions{}};
  DeviceReading gpu_;
  Instant now_{std::chrono::hours(1)};
  WallTime wall_{seconds(1'700'000'000)};
  PodNumber a_, b_;
};

TEST_F(PodUsesTest, CountsAllocatedActiveAndIdleTimeOfAPod) {
  gpu_.holders = {a_, b_};
  gpu_.processes = {Process(1, "a"), Process(2, "b"), Process(3, "b", 11)};
  Take();
  EXPECT_EQ(Of(a_).allocated_us, 0U) << "the start of the allocation is unknown";
  gpu_.busy = {{.pid = 2, .busy_percent_us = 5, .sm_percent = 40}};
  Take();
  Take(seconds(2));
  EXPECT_EQ(Of(a_).allocated_us, 3'000'000U);
  EXPECT_EQ(Of(a_).active_us, 0U);
  EXPECT_EQ(Of(a_).idle_us, 3'000'000U);
  EXPECT_FALSE(Of(a_).active_at.has_value());
  EXPECT_EQ(Of(b_).active_us, 3'000'000U);
  EXPECT_EQ(Of(b_).idle_us, 0U);
  EXPECT_EQ(Of(b_).active_at, wall_);
  EXPECT_EQ(Of(b_).sm_percent, 40U);
  EXPECT_EQ(Of(b_).memory_bytes, 111U);
  EXPECT_EQ(Of(a_).sm_percent, 0U);
}

TEST_F(PodUsesTest, APodWithoutProcessesIsIdleWhateverSamplesThereAre) {
  gpu_.holders = {a_};
  gpu_.samples = BusySamples::kNotSupported;
  Take();
  Take();
  EXPECT_EQ(Of(a_).idle_us, 1'000'000U);
  EXPECT_EQ(Of(a_).memory_bytes, 0U);
}

TEST_F(PodUsesTest, UnmeasuredTimeIsNeitherActiveNorIdle) {
  gpu_.holders = {a_};
  gpu_.processes = {Process(1, "a")};
  gpu_.samples = BusySamples::kNotSupported;
  Take();
  Take();
  EXPECT_EQ(Of(a_).allocated_us, 1'000'000U);
  EXPECT_EQ(Of(a_).active_us + Of(a_).idle_us, 0U);
  EXPECT_FALSE(Of(a_).sm_percent.has_value());
  gpu_.listed = false;
  gpu_.samples = BusySamples::kMeasured;
  Take();
  EXPECT_EQ(Of(a_).allocated_us, 2'000'000U);
  EXPECT_EQ(Of(a_).active_us + Of(a_).idle_us, 0U);
  EXPECT_FALSE(Of(a_).memory_bytes.has_value());
}

TEST_F(PodUsesTest, ActivityOfItsInstanceCountsForAPod) {
  gpu_.holders = {a_};
  gpu_.processes = {Process(1, "a")};
  gpu_.processes[0].instance = 3;
  gpu_.samples = BusySamples::kNotSupported;
  gpu_.instances = {{.instance = 3, .busy = 9}, {.instance = 4, .busy = 0}};
  Take();
  Take();
  EXPECT_EQ(Of(a_).active_us, 1'000'000U);
  gpu_.instances[0].busy = 0;
  Take();
  EXPECT_EQ(Of(a_).idle_us, 1'000'000U);
}

TEST_F(PodUsesTest, KeepsTheUsageOfAPodUntilItIsForgotten) {
  gpu_.holders = {a_};
  gpu_.processes = {Process(1, "a")};
  gpu_.busy = {{.pid = 1, .busy_percent_us = 5, .sm_percent = 40}};
  Take();
  Take();
  const uint64_t generation = accounts_.uses().generation();
  gpu_.holders.clear();
  gpu_.processes.clear();
  gpu_.busy.clear();
  Take();
  EXPECT_EQ(Of(a_).active_us, 1'000'000U);
  EXPECT_FALSE(Of(a_).sm_percent.has_value()) << "it has left the device";
  EXPECT_EQ(accounts_.uses().generation(), generation);
  Take(std::chrono::minutes(11));
  Take(std::chrono::minutes(11));
  EXPECT_TRUE(accounts_.uses().all().empty());
  EXPECT_NE(accounts_.uses().generation(), generation);
}

}  // namespace
}  // namespace podgpu
