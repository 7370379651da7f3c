#include "health/value_log.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "attribution/join.h"
#include "health/pods_on.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// The log lines of a node with three GPUs, of which a pod holds the last; it is read each second.
class ValueLogTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kTemperature = 150, kUsed = 252, kActive = 1002, kTensor = 1004;

  ValueLogTest() {
    facts_.owners_are_known = true;
    SetTopology(FakeDriver::Gpus(3));
  }

  void SetTopology(Topology topology) {
    topology_ = std::make_shared<const Topology>(std::move(topology));
    facts_.owners = std::make_shared<const Owners>(Join(*topology_, allocations_, {}));
  }
  // From now on the GPU does not give the field; nothing: it does.
  void Set(uint16_t field, size_t gpu, std::optional<Absence> absence) {
    absences_[{field, gpu}] = absence;
  }
  // Returns what the next `count` readings log.
  std::string Lines(int count = 1) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < count; ++i) {
      facts_.now += seconds(1);
      facts_.grid = Reading();
      log_.Note(facts_, true);
      log_.Note(facts_, true);
    }
    return testing::internal::GetCapturedStderr();
  }
  static int64_t Count(std::string_view lines) { return std::ranges::count(lines, '\n'); }
  static bool HasPart(std::string_view lines, std::string_view part) {
    return lines.find(part) != std::string_view::npos;
  }

  std::vector<uint16_t> ids_ = {kTemperature, kUsed, kActive, kTensor};
  TickFacts facts_;

 private:
  std::shared_ptr<const Grid> Reading() const {
    std::vector<const Field*> fields;
    for (const uint16_t id : ids_) {
      fields.push_back(FindField(id));
    }
    auto grid = std::make_shared<Grid>(topology_, fields);
    grid->read_at = facts_.now;
    for (size_t f = 0; f < ids_.size(); ++f) {
      for (size_t i = 0; i < topology_->entities.size(); ++i) {
        const auto found = absences_.find({ids_[f], topology_->entities[i].gpu});
        const bool is_absent = found != absences_.end() && found->second;
        grid->at(FieldRow{static_cast<uint16_t>(f)}, EntityId{static_cast<uint16_t>(i)}) =
            is_absent ? Value::OfAbsence(*found->second) : Value::OfInt64(41);
      }
    }
    return grid;
  }

  const std::vector<Allocation> allocations_ = {
      {"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(2)}};
  std::map<std::pair<uint16_t, size_t>, std::optional<Absence>> absences_;
  std::shared_ptr<const Topology> topology_;
  ValueLog log_{seconds(5)};
};

TEST_F(ValueLogTest, AMetricThatStaysAwayIsOneLineAndItsReturnAnother) {
  EXPECT_EQ(Lines(60), "");
  Set(kUsed, 2, Absence::kNoData);
  EXPECT_EQ(Lines(5), "") << "some readings may lack it";
  std::string lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "level=WARN msg=\"metrics have no value\" metrics=DCGM_FI_DEV_FB_USED gpu=2 "
                      "pod=ml/train-0 cause=\"watched, but no sample yet\" remedy=\"read the log "
                      "of the engine and the kernel log; podgpu retries by itself\" ready=yes"))
      << lines;
  Set(kUsed, 2, Absence::kBlank);
  EXPECT_EQ(Lines(60), "") << "it is still away";
  Set(kUsed, 2, std::nullopt);
  lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "level=INFO msg=\"metrics have values again\" metrics=DCGM_FI_DEV_FB_USED "
                      "gpu=2 pod=ml/train-0"))
      << lines;
}

TEST_F(ValueLogTest, AMetricThatReturnsInTimeIsNotTold) {
  Lines();
  for (int i = 0; i < 10; ++i) {
    Set(kUsed, 0, Absence::kBlank);
    EXPECT_EQ(Lines(4), "");
    Set(kUsed, 0, std::nullopt);
    EXPECT_EQ(Lines(), "");
  }
}

TEST_F(ValueLogTest, MetricsOfTheSameGpusAndReasonShareALine) {
  Lines();
  for (size_t gpu = 0; gpu < 3; ++gpu) {
    Set(kActive, gpu, Absence::kCountersTaken);
    Set(kTensor, gpu, Absence::kCountersTaken);
  }
  Set(kTemperature, 0, Absence::kOutOfRange);
  const std::string lines = Lines(60);
  EXPECT_EQ(Count(lines), 2) << lines;
  EXPECT_TRUE(HasPart(lines,
                      "metrics=\"DCGM_FI_PROF_SM_ACTIVE, DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\" gpu=0-2 "
                      "pod=ml/train-0 cause=\"another program uses the profiling counters\" "
                      "remedy=\"end the other profiler (ncu, nsys, or another exporter)"))
      << lines;
  EXPECT_TRUE(HasPart(lines, "metrics=DCGM_FI_DEV_GPU_TEMP gpu=0 pod=none")) << lines;
}

TEST_F(ValueLogTest, OnlyARefusalIsToldOfAMetricThatNeverHadAValue) {
  Set(kTemperature, 0, Absence::kNotSupported);
  Set(kUsed, 1, Absence::kNoData);
  EXPECT_EQ(Lines(60), "");
  Set(kActive, 1, Absence::kNotPermitted);
  const std::string lines = Lines(60);
  EXPECT_EQ(Count(lines), 1) << lines;
  EXPECT_TRUE(HasPart(lines, "remedy=\"run podgpu as root")) << lines;
}

TEST_F(ValueLogTest, WhatAnotherLineTellsAndWhatIsUsualIsNotTold) {
  Lines();
  for (const Absence usual : {Absence::kPaused, Absence::kSuspended, Absence::kSourceDown,
                              Absence::kNotInSource, Absence::kOtherGpu}) {
    Set(kTemperature, 0, usual);
    EXPECT_EQ(Lines(60), "") << AbsenceName(usual);
  }
  Set(kTemperature, 0, Absence::kNoData);
  facts_.freshness.unresponsive.set(0);
  EXPECT_EQ(Lines(60), "") << "the GPU gives nothing";
  facts_.freshness.unresponsive.reset();
  facts_.excluded_gpus.set(0);
  EXPECT_EQ(Lines(60), "") << "the GPU is not selected";
  facts_.excluded_gpus.reset();
  Topology lost = FakeDriver::Gpus(3);
  lost.gpus[0].state = DeviceState::kLost;
  SetTopology(lost);
  EXPECT_EQ(Lines(60), "") << "the GPU is lost";
  SetTopology(FakeDriver::Gpus(3));
  EXPECT_EQ(Count(Lines(60)), 1) << "it returned without this metric";
}

TEST_F(ValueLogTest, AFieldThatIsNoLongerReadIsForgotten) {
  Lines();
  Set(kUsed, 0, Absence::kBlank);
  Lines(10);
  ids_ = {kTemperature};
  EXPECT_EQ(Lines(10), "");
  Set(kUsed, 0, std::nullopt);
  ids_ = {kTemperature, kUsed};
  EXPECT_EQ(Lines(10), "");
  SetTopology(FakeDriver::Gpus(2));
  Set(kUsed, 0, Absence::kBlank);
  EXPECT_EQ(Lines(10), "") << "these are other devices, which never gave it";
}

TEST_F(ValueLogTest, AnHourHasAtMostTenLines) {
  std::string lines = Lines();
  for (int i = 0; i < 20; ++i) {
    Set(kUsed, 0, i % 2 == 0 ? std::optional(Absence::kBlank) : std::nullopt);
    lines += Lines(10);
  }
  EXPECT_EQ(Count(lines), LineBudget::kMostLines) << lines;
  EXPECT_TRUE(HasPart(lines, "the next line on it comes in an hour")) << lines;
}

TEST(PodsOn, NamesThreeAndCountsTheOthers) {
  TickFacts facts;
  EXPECT_EQ(PodsOn(facts, OnlyGpu(0)), "not known");
  const auto topology = std::make_shared<const Topology>(FakeDriver::Gpus(2));
  facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
  std::vector<Allocation> allocations;
  for (const std::string pod : {"a", "b", "b", "c", "d", "e"}) {
    allocations.push_back({"ml", pod, "main", "nvidia.com/gpu",
                           FakeDriver::Uuid(1) + "::" + std::to_string(allocations.size())});
  }
  facts.owners = std::make_shared<const Owners>(Join(*topology, allocations, {}));
  EXPECT_EQ(PodsOn(facts, OnlyGpu(1)), "not known") << "the kubelet's list is too old";
  facts.owners_are_known = true;
  EXPECT_EQ(PodsOn(facts, OnlyGpu(0)), "none");
  EXPECT_EQ(PodsOn(facts, OnlyGpu(1)), "ml/a,ml/b,ml/c and 2 more");
  EXPECT_EQ(PodsOn(facts, OnlyGpu(kMaxJudgedGpus)), "none");
}

}  // namespace
}  // namespace podgpu
