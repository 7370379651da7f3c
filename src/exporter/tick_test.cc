#include "exporter/tick.h"

#include <functional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "exporter/testing/tick_fixture.h"
#include "health/condition.h"
#include "health/self_metrics.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TickFacts EmptyFacts() {
  TickFacts facts;
  facts.source = std::make_shared<const SourceStatus>();
  facts.pods = std::make_shared<const PodFacts>();
  facts.config = std::make_shared<const ConfigNotes>();
  return facts;
}

constexpr std::string_view kGpu1 =
    "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-00000000-0000-0000-0000-000000000001\",pci_bus_id="
    "\"00000000:1B:00.0\",device=\"nvidia1\","
    "modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-a\",DCGM_FI_DEV_SERIAL=\"";

TEST_F(TickTest, TheFirstPageHoldsSelfMetricsOnly) {
  const std::string page = Page();
  EXPECT_NE(page.find("podgpu_ticks_total 1\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_ready 0\n"), std::string::npos);
  EXPECT_EQ(page.find("DCGM_FI"), std::string::npos);
  EXPECT_EQ(page.find("podgpu_gpu_"), std::string::npos);
}

TEST_F(TickTest, APageHoldsTheNewestReading) {
  SetGrid(34);
  EXPECT_NE(Page().find(std::string(kGpu1) + "S1\"} 34\n"), std::string::npos);
  SetGrid(35);
  EXPECT_NE(Page().find(std::string(kGpu1) + "S1\"} 35\n"), std::string::npos);
}

TEST_F(TickTest, AnXidIsCountedForTheContainerThatHeldTheGpu) {
  SetPods({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}});
  const auto read = [&](uint64_t xids) {
    clock_.Advance(seconds(1));
    SetGrid(34);
    auto grid = std::make_shared<Grid>(*grids_.Get());
    grid->findings.gpus.resize(2);
    grid->findings.xids = {{.gpu = 1, .code = 79, .total = xids, .last_us = 5}};
    grids_.Set(grid);
    return Page();
  };
  const std::string line =
      "podgpu_pod_gpu_xid_errors_total{gpu=\"1\",UUID=\"" + FakeDriver::Uuid(1) +
      "\",namespace=\"ml\",pod=\"train-0\",container=\"main\",shared=\"false\",xid=\"79\","
      "action=\"reboot_node\"} ";
  EXPECT_EQ(read(0).find("podgpu_pod_gpu_xid"), std::string::npos);
  EXPECT_NE(read(1).find(line + "1\n"), std::string::npos) << Page();
  SetPods({});
  EXPECT_NE(Page().find(line + "1\n"), std::string::npos) << "the pod has ended";
  EXPECT_NE(read(3).find(line + "3\n"), std::string::npos) << "it held the GPU just before";
  EXPECT_NE(read(4).find(line + "3\n"), std::string::npos) << "no pod holds it now";
}

TEST_F(TickTest, ThePlanIsMadeOncePerEpoch) {
  SetGrid(1);
  Page();
  const auto plan = tick().snapshots().Get()->parts().plan;
  SetGrid(2);
  Page();
  EXPECT_EQ(tick().snapshots().Get()->parts().plan, plan) << "only values have changed";
  SetPods({});
  Page();
  EXPECT_EQ(tick().snapshots().Get()->parts().plan, plan) << "a new answer with the same owners";
  SetGrid(2, 2);
  Page();
  EXPECT_NE(tick().snapshots().Get()->parts().plan, plan) << "a new epoch";
}

TEST_F(TickTest, AChangedLabelValueMakesANewPlan) {
  SetGrid(1);
  Page();
  SetGrid(1, 1, "S2");
  EXPECT_NE(Page().find(std::string(kGpu1) + "S2\"} 1\n"), std::string::npos);
}

TEST_F(TickTest, OwnersFollowTheKubeletsAnswer) {
  SetGrid(1);
  SetPods({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}});
  const std::string owned =
      std::string(kGpu1) + "S1\",container=\"main\",namespace=\"ml\",pod=\"train-0\"} 1\n";
  EXPECT_NE(Page().find(owned), std::string::npos);
  SetPods({});
  EXPECT_EQ(Page().find("train-0"), std::string::npos);
}

TEST_F(TickTest, WithdrawsOwnersWhenTheKubeletDoesNotAnswerForTooLong) {
  SetPods({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}});
  clock_.Advance(seconds(60));
  SetGrid(1);
  EXPECT_NE(Page().find("train-0"), std::string::npos);
  clock_.Advance(seconds(1));
  SetGrid(1);
  EXPECT_EQ(Page().find("train-0"), std::string::npos);
}

TEST_F(TickTest, WithdrawsValuesInsteadOfRepeatingThemWhenTheSourceHangs) {
  SetGrid(34);
  Page();
  clock_.Advance(milliseconds(4'500));
  EXPECT_NE(Page().find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  clock_.Advance(milliseconds(1));
  const std::string page = Page();
  EXPECT_EQ(page.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  EXPECT_NE(page.find("podgpu_absent_samples{reason=\"stale\"} 2\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_sample_age_seconds 4.501\n"), std::string::npos);
}

TEST_F(TickTest, CountsUnknownValuesOfSinglePods) {
  virtual_gpus_ = true;
  counters_ = ParseCounters("DCGM_FI_DEV_FB_USED, gauge, f\n", "test.csv").value().counters;
  SetPods({{"ml", "a", "main", "nvidia.com/gpu", FakeDriver::Uuid(1) + "::0"},
           {"ml", "b", "main", "nvidia.com/gpu", FakeDriver::Uuid(1) + "::1"}});
  auto topology = std::make_shared<Topology>(FakeDriver::Gpus(2));
  auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(252)});
  grid->read_at = clock_.Now();
  for (uint16_t i = 0; i < 2; ++i) {
    grid->at(FieldRow{0}, EntityId{i}) = Value::OfInt64(77);
  }
  grids_.Set(grid);
  EXPECT_NE(Page().find("podgpu_absent_samples{reason=\"no_processes\"} 2\n"), std::string::npos);
}

// The second sample came between the calls of a reading: one GPU has it, the other not yet.
TEST_F(TickTest, LacksFieldsWhileOneEntityAwaitsASampleButNotForEver) {
  const std::vector<const Field*> fields = {FindField(1002)};
  const auto read = [&](Value second) {
    clock_.Advance(seconds(1));
    auto grid = std::make_shared<Grid>(std::make_shared<Topology>(FakeDriver::Gpus(2)), fields);
    grid->read_at = clock_.Now();
    grid->at(FieldRow{0}, EntityId{0}) = Value::OfDouble(0.5);
    grid->at(FieldRow{0}, EntityId{1}) = second;
    grids_.Set(grid);
    Page();
  };
  tick().ShowInstead(counters_, fields);
  read(Value::OfAbsence(Absence::kNoData));
  EXPECT_TRUE(tick().lacks_fields());
  read(Value::OfDouble(0.5));
  EXPECT_FALSE(tick().lacks_fields());
  tick().ShowInstead(counters_, fields);
  for (int reading = 1; reading <= 5; ++reading) {
    read(Value::OfAbsence(reading % 2 == 0 ? Absence::kNoData : Absence::kBlank));
    EXPECT_EQ(tick().lacks_fields(), reading < 5) << reading;
  }
}

TEST_F(TickTest, ShowsOnlyTheChosenViews) {
  views_ = {View::kDcgm};
  SetGrid(34);
  const std::string page = Page();
  EXPECT_NE(page.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  EXPECT_EQ(page.find("podgpu_"), std::string::npos);
}

TEST_F(TickTest, ASectionOfSeveralViewsIsOnThePageOnce) {
  SetPods({{"ml", "train-0", "main", "nvidia.com/gpu", FakeDriver::Uuid(1)}});
  SetGrid(34);
  views_ = {View::kNative};
  const std::string native = Page();
  EXPECT_EQ(Lines(native, "podgpu_allocation_info{").size(), 1U);
  EXPECT_EQ(Lines(native, "podgpu_gpus_present ").size(), 1U);
  tick_.reset();
  views_ = {View::kCore, View::kNative};
  EXPECT_EQ(Page(), native);
  tick_.reset();
  views_ = {View::kCore};
  const std::string core = Page();
  EXPECT_EQ(Lines(core, "podgpu_gpu_temperature_celsius{").size(), 0U) << "no measures";
  EXPECT_EQ(Lines(core, "podgpu_gpu_info{").size(), 2U);
  EXPECT_EQ(Lines(core, "podgpu_gpu_state{").size(), 2U);
  EXPECT_EQ(Lines(core, "podgpu_allocation_info{"), Lines(native, "podgpu_allocation_info{"));
}

TEST_F(TickTest, CountsUnmatchedDevicesByReason) {
  SetGrid(1);
  SetPods({{"ml", "a", "c", "nvidia.com/gpu", FakeDriver::Uuid(0)},
           {"ml", "b", "c", "nvidia.com/gpu", "vendor-seven"}});
  const std::string page = Page();
  EXPECT_NE(page.find("podgpu_devices_matched 1\n"), std::string::npos);
  EXPECT_NE(page.find("podgpu_devices_unmatched{reason=\"unknown_id_form\"} 1\n"),
            std::string::npos);
  EXPECT_NE(tick().conditions().Get()->parts[1].detail.find("\"vendor-seven\" of nvidia.com/gpu"),
            std::string::npos);
}

TEST_F(TickTest, LogsOnceWhichIdsMatchNoDevice) {
  SetGrid(1);
  Page();
  const auto lines_of = [&] {
    testing::internal::CaptureStderr();
    Page();
    Page();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(lines_of(), "");
  SetPods({{"ml", "b", "c", "nvidia.com/gpu", "vendor-seven"}});
  const std::string lines = lines_of();
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
  EXPECT_NE(lines.find("ids=1 first=vendor-seven resource=nvidia.com/gpu "
                       "reason=unknown_id_form"),
            std::string::npos)
      << lines;
  SetPods({{"ml", "a", "c", "nvidia.com/gpu", FakeDriver::Uuid(0)}});
  EXPECT_NE(lines_of().find("all device ids of the kubelet match a device"), std::string::npos);
  SetPods({{"ml", "b", "c", "nvidia.com/gpu", "vendor-seven"}});
  lines_of();
  SetPods({});
  const std::string none_given = lines_of();
  EXPECT_EQ(none_given.find("all device ids"), std::string::npos) << "there are none";
  EXPECT_NE(none_given.find("no pod holds a device of this node any more"), std::string::npos)
      << none_given;
}

TEST_F(TickTest, ReportsRefusedClientsInMetricsAndInText) {
  EXPECT_EQ(Page().find("podgpu_http_rejected_total{"), std::string::npos) << "none yet";
  clients_.open_connections = 512;
  clients_.requests = 70;
  clients_.turned_away = 3;
  clients_.deadlines = 2;
  const std::string page = Page();
  for (const std::string_view line :
       {"podgpu_http_connections 512\n", "podgpu_http_requests_total 70\n",
        "podgpu_http_rejected_total{reason=\"turned_away\"} 3\n",
        "podgpu_http_rejected_total{reason=\"deadline\"} 2\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(Lines(page, "podgpu_http_rejected_total{").size(), 2U)
      << "no line for a reason that never occurred";
  EXPECT_EQ(tick().conditions().Get()->parts[2].state, PartState::kDegraded);
  clock_.Advance(seconds(61));
  Page();
  EXPECT_EQ(tick().conditions().Get()->parts[2].state, PartState::kOk)
      << "no client was refused recently";
}

TEST_F(TickTest, CountsConfigurationEntriesWithoutEffect) {
  config_ = {"a.csv", 3, {"a.csv:1: x", "a.csv:2: y"}};
  EXPECT_NE(Page().find("podgpu_config_warnings 2\n"), std::string::npos);
  EXPECT_EQ(tick().conditions().Get()->parts[3].detail,
            "3 metrics of a.csv; 2 warnings, the first: a.csv:1: x");
}

TEST_F(TickTest, ASlowClientKeepsOnlyItsOwnSnapshot) {
  std::vector<std::weak_ptr<const Snapshot>> snapshots;
  std::shared_ptr<const Snapshot> slow;
  for (int i = 0; i < 5; ++i) {
    SetGrid(i);
    Page();
    snapshots.push_back(tick().snapshots().Get());
    if (i == 1) {
      slow = snapshots.back().lock();
    }
  }
  const std::vector<bool> alive = {false, true, false, false, true};
  for (size_t i = 0; i < snapshots.size(); ++i) {
    EXPECT_EQ(!snapshots[i].expired(), alive[i]) << i;
  }
}

TEST_F(TickTest, ANudgeEndsTheSleepBetweenTicks) {
  std::jthread thread([&](const std::stop_token& stop) { tick().Run(stop); });
  clock_.AwaitSleepers(1);
  EXPECT_EQ(tick_->ticks(), 1U);
  wakeup_.Nudge();
  while (tick_->ticks() < 2) {
    std::this_thread::yield();
  }
  clock_.AwaitSleepers(1);
  clock_.Advance(milliseconds(1'250));
  clock_.AwaitSleepers(1);
  EXPECT_EQ(tick_->ticks(), 3U);
}

TEST(SelfMetrics, EverySlotHasExactlyOneValue) {
  TickFacts facts = EmptyFacts();
  facts.source = std::make_shared<const SourceStatus>();
  facts.pods = std::make_shared<const PodFacts>();
  for (const uint32_t gpus : {0U, 1U, 8U}) {
    auto topology = std::make_shared<Topology>(FakeDriver::Gpus(gpus));
    facts.grid = std::make_shared<const Grid>(topology, std::vector<const Field*>{});
    for (const SlotView view : {SlotView::kCore, SlotView::kSelf}) {
      std::set<uint32_t> slots;
      for (const SlotFamily& family : SlotFamiliesOf(view, topology.get(), 0)) {
        for (const SlotSeries& series : family.series) {
          EXPECT_TRUE(slots.insert(series.slot).second) << family.family.name;
        }
      }
      std::vector<Value> values;
      AppendSlots(view, facts, true, values);
      EXPECT_EQ(values.size(), slots.size());
      EXPECT_EQ(*slots.rbegin() + 1, slots.size());
    }
  }
}

// A reading of other fields may come before the tick gets the list of counters for them.
TEST_F(TickTest, MakesANewPlanForAReadingOfOtherFields) {
  SetGrid(34);
  Page();
  auto topology = std::make_shared<Topology>(grids_.Get()->topology());
  auto grid = std::make_shared<Grid>(topology, std::vector<const Field*>{FindField(150)});
  grid->read_at = clock_.Now();
  for (uint16_t i = 0; i < 2; ++i) {
    grid->at(FieldRow{0}, EntityId{i}) = Value::OfInt64(77);
  }
  grids_.Set(grid);
  EXPECT_NE(Page().find("modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-a\"} 77\n"),
            std::string::npos);
}

TEST_F(TickTest, ABudgetLeavesOutTheLastDcgmFamiliesAndCounts) {
  counters_ =
      ParseCounters("DCGM_FI_DEV_GPU_TEMP, gauge, t\nDCGM_FI_DEV_SERIAL, gauge, s\n", "test.csv")
          .value()
          .counters;
  budget_ = 1;
  views_ = {View::kDcgm, View::kNative, View::kSelf};
  SetGrid(34);
  Page();
  EXPECT_EQ(Page().find("DCGM_FI_DEV_GPU_TEMP"), std::string::npos);
  EXPECT_NE(Page().find("podgpu_gpu_temperature_celsius{"), std::string::npos)
      << "podgpu's own families stay";
  EXPECT_NE(Page().find("podgpu_series_dropped_total 12\n"), std::string::npos)
      << "4 series on each of 3 pages before this one";
}

TEST_F(TickTest, ABudgetThatIsLargeEnoughLeavesNothingOut) {
  budget_ = 1'000;
  SetGrid(34);
  Page();
  const std::string page = Page();
  EXPECT_NE(page.find("DCGM_FI_DEV_GPU_TEMP{"), std::string::npos);
  EXPECT_NE(page.find("podgpu_series_dropped_total 0\n"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
