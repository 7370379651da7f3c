// Collections: values that NVML is asked for at intervals of their own.
#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "fields/field_ids.h"
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
    grid_->findings.asked.clock_window = clock_window_;
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
  std::chrono::milliseconds clock_window_{0};
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
  Start({{"slow", seconds(60), {kPowerField}}});
  ReadAfter(seconds(0));
  EXPECT_EQ(AgeOf(kPowerField), 10) << "the same ones";
  Start({});
  ReadAfter(seconds(0));
  EXPECT_EQ(AgeOf(kPowerField), 0);
}

TEST_F(NvmlPacesTest, APauseOfProfilingCountsAtOnce) {
  Start({{"slow", seconds(600), {kActiveField}}});
  ReadAfter(seconds(0));
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kActiveField), 0);
  source_->SetProfiling(false);
  Start({{"slow", seconds(600), {kActiveField}}});
  ReadAfter(seconds(10));
  EXPECT_EQ(grid_->at(*grid_->RowOf(kActiveField), EntityId{0}).absence(), Absence::kPaused);
  EXPECT_GT(nvml_.CountOf("nvmlGpmSampleFree"), 0);
  source_->SetProfiling(true);
  Start({{"slow", seconds(600), {kActiveField}}});
  ReadAfter(seconds(10));
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kActiveField), 0) << "two samples after the pause";
}

// A value that is shown again is not another sample.
TEST_F(NvmlPacesTest, CountsEachSampleOfTheClockReasonsOnce) {
  constexpr uint16_t kReasonsField = field_ids::kClockReasons;
  fields_.insert(fields_.begin(), FindField(kReasonsField));
  nvml_.numbers["nvmlDeviceGetCurrentClocksEventReasons"] = 4;
  Start({{"slow", seconds(60), {kReasonsField}}});
  clock_window_ = seconds(300);
  for (int second = 0; second <= 120; second += 10) {
    ReadAfter(seconds(second == 0 ? 0 : 10));
    ASSERT_EQ(grid_->findings.gpus.size(), 1U);
    EXPECT_EQ(grid_->findings.gpus[0].clock_samples, static_cast<uint64_t>(1 + second / 60));
    EXPECT_TRUE(grid_->findings.gpus[0].clocks_known);
  }
}

TEST_F(NvmlPacesTest, AsksForWhatTheBoardLacksAtItsInterval) {
  Start({{"slow", seconds(60), {kPowerField}}});
  nvml_.FailWith({{"nvmlDeviceGetPowerUsage", abi::NVML_ERROR_NOT_SUPPORTED},
                  {"nvmlDeviceGetTemperatureV", abi::NVML_ERROR_NOT_SUPPORTED}});
  int powers = 0;
  for (int second = 0; second <= 120; second += 10) {
    ReadAfter(seconds(second == 0 ? 0 : 10));
    powers += nvml_.CountOf("nvmlDeviceGetPowerUsage");
  }
  EXPECT_EQ(powers, 3);
}

// The rate at the first reading is 0, which must not stay for an interval.
TEST_F(NvmlPacesTest, ReadsTheRateOfALinkTwiceInTheBeginning) {
  constexpr uint16_t kLinkRateField = 449;
  fields_.push_back(FindField(kLinkRateField));
  std::ranges::sort(fields_, {}, &Field::id);
  int64_t sent = 0;
  nvml_.measure = [&](const std::string&, size_t) { return sent += 1'000'000; };
  Start({{"slow", seconds(60), {kLinkRateField}}});
  ReadAfter(seconds(0));
  EXPECT_EQ(grid_->at(*grid_->RowOf(kLinkRateField), EntityId{0}).number(), 0);
  ReadAfter(seconds(10));
  EXPECT_GT(grid_->at(*grid_->RowOf(kLinkRateField), EntityId{0}).number(), 0);
  ReadAfter(seconds(10));
  EXPECT_EQ(AgeOf(kLinkRateField), 10);
}

// What the GPU in MIG mode does not have, its instances may have.
TEST_F(NvmlPacesTest, ReadsInstancesAtTheirInterval) {
  nvml_.gpus[0].mig_enabled = true;
  nvml_.gpus[0].mig_devices = {{true, 3, 0, "MIG-x", "3g.40gb"}};
  Start({{"slow", seconds(60), {kActiveField}}});
  for (int second = 0; second <= 70; second += 10) {
    ReadAfter(seconds(second == 0 ? 0 : 10));
    const Value& value = grid_->at(*grid_->RowOf(kActiveField), EntityId{1});
    EXPECT_EQ(value.present() ? value.age_ms() / 1e3 : -1,
              second == 0 ? -1 : (second < 60 ? second - 10 : second - 60))
        << second;
  }
}

TEST_F(NvmlPacesTest, ReadsTheMemoryOfInstancesWhereTheGpuHasNone) {
  constexpr uint16_t kUsedField = 252;
  nvml_.gpus[0].mig_enabled = true;
  nvml_.gpus[0].mig_devices = {{true, 3, 0, "MIG-x", "3g.40gb"}};
  FakeFault refused;
  refused.code = abi::NVML_ERROR_NOT_SUPPORTED;
  nvml_.Inject("nvmlDeviceGetMemoryInfo_v2", refused, 0);
  int64_t used = 0;
  nvml_.measure = [&](const std::string& symbol, size_t) {
    return symbol == "nvmlDeviceGetMemoryInfo_v2" ? ++used : 1;
  };
  fields_ = {FindField(kUsedField)};
  for (const FieldCollections& collections :
       {FieldCollections(), FieldCollections{{"fast", seconds(5), {kUsedField}}}}) {
    Start(collections);
    for (int i = 0; i < 4; ++i) {
      const int64_t before = used;
      ReadAfter(seconds(5));
      EXPECT_EQ(used, before + 1) << i;
      EXPECT_EQ(grid_->at(FieldRow{0}, EntityId{0}).absence(), Absence::kNotSupported);
      EXPECT_TRUE(grid_->at(FieldRow{0}, EntityId{1}).present());
    }
  }
}

}  // namespace
}  // namespace podgpu
