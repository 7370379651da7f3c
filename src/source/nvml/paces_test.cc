// Collections: values that NVML is asked for at intervals of their own.
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "source/nvml/source.h"
#include "source/testing/fake_nvml_table.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kPowerField = 155;
constexpr uint16_t kTemperatureField = 150;
constexpr uint16_t kMemoryTemperatureField = 140;  // One of NVML's field values.
constexpr uint16_t kActiveField = 1002;

// One GPU, whose power is read every minute and whose other values every 10 s; it is read every
// 5 s, since its memory temperature is.
class NvmlPacesTest : public ::testing::Test {
 protected:
  NvmlPacesTest() {
    nvml_.gpus = {{"GPU-a", 0, {}}};
    nvml_.gpm = [](uint32_t) { return 50.0; };
    nvml_.stamp = [this] { return ToMicroseconds(clock_.WallNow()); };
    clock_.Advance(seconds(1'000));
    source_ = std::make_unique<NvmlSource>(nvml_.Library(),
                                           NvmlSourceOptions{.stale_after = seconds(30)}, clock_);
    for (const uint16_t id :
         {kMemoryTemperatureField, kTemperatureField, kPowerField, kActiveField}) {
      fields_.push_back(FindField(id));
    }
  }
  void Start(FieldCollections collections) {
    topology_ = std::make_shared<const Topology>(source_->Discover({}).value());
    source_->SetCollections(std::make_shared<const FieldCollections>(std::move(collections)));
    ASSERT_TRUE(source_->Watch(*topology_, fields_, seconds(10)).ok());
  }
  // Reads after `step`, and returns the age of a value in seconds; -1: it is absent.
  void ReadAfter(Duration step) {
    clock_.Advance(step);
    grid_ = std::make_unique<Grid>(topology_, fields_);
    nvml_.ForgetCalls();
    ASSERT_TRUE(source_->Read(*grid_).ok());
  }
  double AgeOf(uint16_t field) const {
    const Value& value = grid_->at(grid_->RowOf(field).value(), EntityId{0});
    return value.present() ? value.age_ms() / 1e3 : -1;
  }

  ManualClock clock_;
  FakeNvml nvml_;
  std::unique_ptr<NvmlSource> source_;
  std::vector<const Field*> fields_;
  std::shared_ptr<const Topology> topology_;
  std::unique_ptr<Grid> grid_;
};

TEST_F(NvmlPacesTest, ReadsEachValueWhenItIsDueAndTellsItsAge) {
  Start({{"slow", seconds(60), {kPowerField}}, {"fast", seconds(5), {kMemoryTemperatureField}}});
  int powers = 0;
  int temperatures = 0;
  int field_values = 0;
  for (int second = 0; second <= 120; second += 5) {
    // Readings come a little early or late.
    ReadAfter(second == 0 ? milliseconds(0) : milliseconds(second % 2 == 0 ? 4'950 : 5'050));
    powers += nvml_.CountOf("nvmlDeviceGetPowerUsage");
    temperatures +=
        nvml_.CountOf("nvmlDeviceGetTemperatureV") + nvml_.CountOf("nvmlDeviceGetTemperature");
    field_values += nvml_.CountOf("nvmlDeviceGetFieldValues");
    EXPECT_NEAR(AgeOf(kPowerField), second % 60, 0.1) << second;
    EXPECT_NEAR(AgeOf(kTemperatureField), second % 10, 0.1) << second;
    EXPECT_EQ(AgeOf(kMemoryTemperatureField), 0) << second;
  }
  EXPECT_EQ(powers, 3);
  EXPECT_EQ(temperatures, 13);
  EXPECT_EQ(field_values, 25);
}

// A profiling value needs two samples.  The first value comes at the second reading.
TEST_F(NvmlPacesTest, SamplesASlowProfilingValueUntilThereIsOne) {
  Start({{"slow", seconds(60), {kActiveField}}});
  ReadAfter(seconds(0));
  EXPECT_EQ(AgeOf(kActiveField), -1);
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kActiveField), 0);
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kActiveField), 10);
  EXPECT_EQ(nvml_.CountOf("nvmlGpmSampleGet"), 0);
  for (int i = 0; i < 4; ++i) {
    ReadAfter(seconds(10));
  }
  EXPECT_EQ(AgeOf(kActiveField), 0);
}

// After a loss the values from before it must not be shown.
TEST_F(NvmlPacesTest, ReadsAllValuesAfterAFailedReading) {
  Start({{"slow", seconds(60), {kPowerField}}});
  ReadAfter(seconds(0));
  nvml_.Change([&] { nvml_.gpus[0].state = abi::NVML_ERROR_GPU_IS_LOST; });
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kPowerField), -1);
  nvml_.Change([&] { nvml_.gpus[0].state = abi::NVML_SUCCESS; });
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kPowerField), 0);
}

TEST_F(NvmlPacesTest, TakesOtherCollectionsAtTheNextWatch) {
  Start({{"slow", seconds(60), {kPowerField}}});
  ReadAfter(seconds(0));
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kPowerField), 10);
  Start({});
  ReadAfter(seconds(0));
  EXPECT_EQ(AgeOf(kPowerField), 0);
}

}  // namespace
}  // namespace podgpu
