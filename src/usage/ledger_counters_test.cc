#include "usage/ledger_counters.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kEnergy = 156;

// Two GPUs, the first with an instance; the ledger knows the first.
class LedgerCountersTest : public ::testing::Test {
 protected:
  LedgerCountersTest() {
    Topology topology = FakeDriver::Gpus(2);
    GpuInstance instance;
    instance.gpu_instance_id = 7;
    topology.instances.push_back(instance);
    NumberEntities(topology);
    topology_ = std::make_shared<const Topology>(std::move(topology));
  }

  void Count(uint64_t counter_mj) {
    DeviceInterval interval;
    interval.at = now_;
    interval.counter_mj = counter_mj;
    ledger_.Record(interval);
  }
  // Returns the values that the page shows per column when the device field is `told`.
  std::vector<Value> Show(int64_t told, bool is_shown = true) {
    auto grid = std::make_shared<Grid>(topology_, std::vector<const Field*>{FindField(kEnergy)});
    grid->read_at = read_at_;
    for (Value& value : grid->CellsOf({0})) {
      value = Value::OfInt64(told);
    }
    return Show(grid, is_shown)->cells();
  }
  std::shared_ptr<const Grid> Show(const std::shared_ptr<const Grid>& grid, bool is_shown = true) {
    return counters_.ShowIn(grid, {.ledger = ledger_,
                                   .uuids = uuids_,
                                   .is_shown = is_shown,
                                   .now = now_,
                                   .stale_after = seconds(5)});
  }
  void Pass(Duration step) { now_ += step; }

  std::shared_ptr<const Topology> topology_;
  const std::vector<std::string> uuids_ = {FakeDriver::Uuid(0)};
  Ledger ledger_{{}};
  LedgerCounters counters_;
  Instant now_{seconds(100)};
  Instant read_at_{seconds(99)};  // The device fields.
};

TEST_F(LedgerCountersTest, ShowsTheLedgersReadingInAllColumnsOfTheGpu) {
  Count(5'000);
  Pass(seconds(2));
  const std::vector<Value> shown = Show(4'000);
  ASSERT_EQ(shown.size(), 3U);
  for (size_t column = 0; column < shown.size(); ++column) {
    const bool is_first_gpu = topology_->entities[column].gpu == 0;
    EXPECT_EQ(shown[column].int64(), is_first_gpu ? 5'000 : 4'000) << column;
  }
}

TEST_F(LedgerCountersTest, ShowsTheAgeOfTheReading) {
  Count(5'000);
  Pass(seconds(2));
  EXPECT_EQ(Show(4'000)[0].age_ms(), 0U) << "newer than the device fields";
  read_at_ = now_;
  EXPECT_EQ(Show(4'000)[0].age_ms(), 2'000U);
}

TEST_F(LedgerCountersTest, LeavesAbsentValuesAbsent) {
  Count(5'000);
  auto grid = std::make_shared<Grid>(topology_, std::vector<const Field*>{FindField(kEnergy)});
  grid->Clear(Absence::kDeviceLost);
  EXPECT_EQ(Show(grid)->cells()[0].absence(), Absence::kDeviceLost);
}

TEST_F(LedgerCountersTest, DoesNotChangeAGridWithoutTheCounter) {
  const auto grid = std::make_shared<const Grid>(topology_, std::vector<const Field*>{});
  EXPECT_EQ(Show(grid), grid);
}

TEST_F(LedgerCountersTest, WithdrawsTheCounterWhenTheLedgersReadingIsTooOld) {
  Count(5'000);
  Pass(seconds(5));
  EXPECT_TRUE(Show(9'000)[0].present());
  Pass(milliseconds(1));
  EXPECT_EQ(Show(9'000)[0].absence(), Absence::kStale);
  EXPECT_EQ(Show(9'000, false)[0].int64(), 9'000) << "the amounts are not on the page";
}

TEST_F(LedgerCountersTest, NeverFallsWhenTheSourceOfTheReadingChanges) {
  EXPECT_EQ(Show(4'500)[0].int64(), 4'500) << "before the ledger's first reading";
  Pass(seconds(-2));
  Count(4'000);
  Pass(seconds(3));
  EXPECT_EQ(Show(4'500)[0].absence(), Absence::kStale) << "the lower value was read earlier";
  Count(6'000);
  EXPECT_EQ(Show(4'500)[0].int64(), 6'000);
  EXPECT_EQ(Show(4'500, false)[0].absence(), Absence::kStale) << "likewise in the other direction";
  EXPECT_EQ(Show(6'500, false)[0].int64(), 6'500);
}

TEST_F(LedgerCountersTest, ShowsACounterThatWasReset) {
  Count(5'000);
  EXPECT_EQ(Show(4'000)[0].int64(), 5'000);
  Pass(seconds(1));
  Count(30);
  EXPECT_EQ(Show(4'000)[0].int64(), 30);
  Pass(seconds(1));
  read_at_ = now_;
  EXPECT_EQ(Show(10, false)[0].int64(), 10);
}

}  // namespace
}  // namespace podgpu
