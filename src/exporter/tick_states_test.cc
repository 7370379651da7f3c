#include <gtest/gtest.h>

#include "exporter/testing/tick_fixture.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

TEST_F(TickTest, ADeviceWhoseSamplesAreAllStaleIsUnresponsive) {
  SetGrid(34);
  clock_.Advance(seconds(6));
  const std::string page = Page();
  EXPECT_FALSE(tick().conditions().Get()->ready);
  EXPECT_NE(page.find("podgpu_gpu_state{gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-"
                      "000000000000\",state=\"unresponsive\"} 1\n"),
            std::string::npos);
  EXPECT_EQ(Lines(page, "podgpu_gpu_state{gpu=\"0\"").size(), 1U)
      << "it has not been in another state";
  clock_.Advance(seconds(1));
  SetGrid(34);
  const std::string after = Page();
  EXPECT_EQ(Lines(after, "podgpu_gpu_state{gpu=\"0\"").size(), 2U);
  EXPECT_NE(after.find("000000000000\",state=\"ok\"} 1\n"), std::string::npos);
  EXPECT_NE(after.find("000000000000\",state=\"unresponsive\"} 0\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_gpus_present 0\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_gpus_expected 2\n"), std::string::npos);
}

TEST_F(TickTest, AHungCallThatReturnsIsNotAFreshReading) {
  SetGrid(34);
  Page();
  const auto driver = [&] { return tick().conditions().Get()->parts[0].state; };
  std::optional<CallGuard::Scope> call;
  call.emplace(guard_, nullptr, SourceCall::kRead);
  clock_.Advance(seconds(10));
  Page();
  EXPECT_EQ(driver(), PartState::kUnresponsive);
  call.reset();
  EXPECT_NE(Page().find("podgpu_source_state{state=\"unresponsive\"} 1\n"), std::string::npos);
  clock_.Advance(seconds(1));
  SetGrid(35);
  Page();
  EXPECT_EQ(driver(), PartState::kOk) << "this reading began after the hang";
}

TEST_F(TickTest, OneGpuWithoutAnyValueEndsReadiness) {
  SetGrid(34);
  EXPECT_NE(Page().find("podgpu_ready 1\n"), std::string::npos);
  std::string page;
  for (int i = 0; i < 6; ++i) {
    clock_.Advance(seconds(1));
    SetGrid(34);
    auto grid = std::make_shared<Grid>(*grids_.Get());
    grid->at(FieldRow{1}, EntityId{1}) = Value::OfAbsence(Absence::kNoData);
    grids_.Set(grid);
    page = Page();
  }
  EXPECT_NE(page.find("podgpu_ready 0\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_gpus_present 1\n"), std::string::npos);
  EXPECT_EQ(tick().conditions().Get()->devices[1].state, "unresponsive");
  SetGrid(34);
  EXPECT_NE(Page().find("podgpu_ready 1\n"), std::string::npos);
}

TEST_F(TickTest, SelectingMissingDevicesIsAWarningAndTheNodeIsReady) {
  selections_.gpus = *ParseDeviceSelection("g:5");
  SetGrid(34);
  testing::internal::CaptureStderr();
  const std::string page = Page();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(page.find("podgpu_config_warnings 1\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_ready 1\n"), std::string::npos);
  EXPECT_EQ(page.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  const std::shared_ptr<const Condition> condition = tick().conditions().Get();
  EXPECT_EQ(condition->verdict, "ready: 0 of 2 GPUs served, 2 not selected");
  EXPECT_EQ(condition->parts[3].state, PartState::kDegraded);
  EXPECT_NE(condition->parts[3].detail.find("couldn't find requested GPU ID '5'"),
            std::string::npos);
  EXPECT_NE(log.find("msg=\"configuration entry has no effect\""), std::string::npos);
}

TEST_F(TickTest, APastStateKeepsItsLineThroughANewEpoch) {
  clock_.Advance(seconds(1));
  SetGrid(34);
  Page();
  SetSource(PartState::kDegraded, "some fields are absent");
  EXPECT_EQ(Lines(Page(), "podgpu_source_state{"),
            (std::vector<std::string>{"podgpu_source_state{state=\"ok\"} 0",
                                      "podgpu_source_state{state=\"degraded\"} 1"}));
  SetGrid(34, 2);
  SetSource(PartState::kOk, "fake driver");
  EXPECT_EQ(Lines(Page(), "podgpu_source_state{"),
            (std::vector<std::string>{"podgpu_source_state{state=\"ok\"} 1",
                                      "podgpu_source_state{state=\"degraded\"} 0"}));
}

TEST_F(TickTest, AReasonForAbsenceHasALineOnlyWhileItApplies) {
  SetGrid(34);
  EXPECT_TRUE(Lines(Page(), "podgpu_absent_samples{").empty());
  auto grid = std::make_shared<Grid>(*grids_.Get());
  grid->at(FieldRow{1}, EntityId{0}) = Value::OfAbsence(Absence::kNotSupported);
  grids_.Set(grid);
  EXPECT_EQ(Lines(Page(), "podgpu_absent_samples{"),
            std::vector<std::string>{"podgpu_absent_samples{reason=\"not_supported\"} 1"});
  SetGrid(34);
  EXPECT_TRUE(Lines(Page(), "podgpu_absent_samples{").empty());
}

TEST_F(TickTest, AReasonThatAppliesForTheFirstTimeMakesANewPlan) {
  views_ = {View::kNative};
  const auto read = [&](int64_t reasons) {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(1));
    topology->epoch = 1;
    auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(112)});
    grid->read_at = clock_.Now();
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfInt64(reasons);
    grids_.Set(grid);
    return Lines(Page(), "podgpu_gpu_throttle_active{");
  };
  constexpr size_t kAlwaysThere = 1;
  EXPECT_EQ(read(0).size(), kAlwaysThere);
  const auto plan = tick().snapshots().Get()->parts().plan;
  read(4);
  EXPECT_EQ(tick().snapshots().Get()->parts().plan, plan);
  EXPECT_EQ(read(1).size(), kAlwaysThere + 1);
  EXPECT_TRUE(read(1).front().ends_with("reason=\"gpu_idle\"} 1")) << read(1).front();
  EXPECT_TRUE(read(0).front().ends_with("reason=\"gpu_idle\"} 0")) << "it applied before";
}

}  // namespace
}  // namespace podgpu
