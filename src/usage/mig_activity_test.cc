#include "usage/mig_activity.h"

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// GPU 1 has device number 0, one instance of three slices and one of one slice.
class MigActivityTest : public ::testing::Test {
 protected:
  explicit MigActivityTest(std::vector<uint16_t> fields = {1001, 1002}) {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
    topology->gpus[1].mig_enabled = true;
    topology->instances = {
        {.gpu = 1, .gpu_instance_id = 2, .profile = "3g.40gb", .compute_instances = {}},
        {.gpu = 1, .gpu_instance_id = 9, .profile = "1g.10gb", .compute_instances = {}}};
    NumberEntities(*topology);
    std::vector<const Field*> read;
    for (const uint16_t field : fields) {
      read.push_back(FindField(field));
    }
    grid_ = std::make_unique<Grid>(topology, read);
    activity_.Find(*topology, {FakeDriver::Uuid(1), FakeDriver::Uuid(0)});
  }

  void Tell(uint16_t field, double of_large, double of_small) {
    grid_->at(*grid_->RowOf(field), kLarge) = Value::OfDouble(of_large);
    grid_->at(*grid_->RowOf(field), kSmall) = Value::OfDouble(of_small);
  }
  // Returns "2:300 9:50": instances and their activity in slices x percent x seconds.
  std::string Read(Duration later = seconds(1), uint32_t number = 0,
                   std::vector<InstanceActivity> known = {}) {
    now_ += later;
    DeviceReading device{.device = {number}, .at = now_, .instances = std::move(known)};
    activity_.AddTo(*grid_, device);
    std::string told;
    for (const InstanceActivity& instance : device.instances) {
      told += (told.empty() ? "" : " ") + std::to_string(instance.instance) + ":" +
              std::to_string(instance.busy / 1'000'000);
    }
    return told;
  }

  static constexpr EntityId kLarge{2};
  static constexpr EntityId kSmall{3};
  std::unique_ptr<Grid> grid_;
  MigActivity activity_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(MigActivityTest, WeightIsActivityTimesSlicesTimesTime) {
  Tell(1002, 0.5, 0.25);
  EXPECT_EQ(Read(), "") << "the start of the interval is unknown";
  EXPECT_EQ(Read(), "2:150 9:25");
  EXPECT_EQ(Read(seconds(2)), "2:300 9:50");
  EXPECT_EQ(Read(seconds(0)), "");
}

TEST_F(MigActivityTest, UsesEngineActivityWhereSmActivityIsMissing) {
  Tell(1001, 1, 0);
  Tell(1002, 0.5, 0.25);
  grid_->at(*grid_->RowOf(1002), kSmall) = Value::OfAbsence(Absence::kStale);
  Read();
  EXPECT_EQ(Read(), "2:300 9:0") << "all instances use the same field";
  grid_->at(*grid_->RowOf(1001), kLarge) = Value::OfAbsence(Absence::kCountersTaken);
  EXPECT_EQ(Read(), "");
  Tell(1002, 1.5, 0.25);
  EXPECT_EQ(Read(), "") << "not a ratio";
}

TEST_F(MigActivityTest, KeepsTheDriversOwnActivity) {
  Tell(1002, 0.5, 0.25);
  Read();
  EXPECT_EQ(Read(seconds(1), 0, {{.instance = 7, .busy = 3'000'000}}), "7:3");
  EXPECT_EQ(Read(), "2:150 9:25") << "over the time since that reading";
  Read(seconds(1), 1);
  EXPECT_EQ(Read(seconds(1), 1), "") << "a whole GPU";
  EXPECT_EQ(Read(seconds(1), 5), "") << "an unknown device number";
}

class MigActivityWithoutProfiling : public MigActivityTest {
 protected:
  MigActivityWithoutProfiling() : MigActivityTest({150}) {}
};

TEST_F(MigActivityWithoutProfiling, AddsNothing) {
  Read();
  EXPECT_EQ(Read(), "");
}

}  // namespace
}  // namespace podgpu
