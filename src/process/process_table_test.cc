#include "process/process_table.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "process/process_accounts.h"

namespace podgpu {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr DeviceNumber kGpu0{0};
constexpr DeviceNumber kGpu1{1};

std::shared_ptr<const ProcessIdentity> Known(uint32_t pid, uint64_t start_ticks,
                                             const std::string& pod_uid = "pod-a") {
  auto identity = std::make_shared<ProcessIdentity>();
  identity->key = {.pid = pid, .start_ticks = start_ticks};
  identity->name = "p" + std::to_string(pid);
  identity->place = {.pod_uid = pod_uid, .container_id = pod_uid.empty() ? "" : "c"};
  return identity;
}

ListedProcess On(const std::shared_ptr<const ProcessIdentity>& identity,
                 std::optional<uint64_t> memory_bytes = 1) {
  return {.pid = identity->key.pid, .memory_bytes = memory_bytes, .identity = identity};
}

// GPU 0, and GPU 1 if `second` is set; one reading per second.
class TableTest : public ::testing::Test {
 protected:
  void Take(std::vector<ListedProcess> processes, std::vector<ProcessBusy> busy = {}) {
    ProcessReading reading{.at = now_, .devices = {}};
    reading.devices.push_back(DeviceReading{.device = kGpu0,
                                            .at = now_,
                                            .counter_mj = 0,
                                            .listed = listed_,
                                            .processes = std::move(processes),
                                            .samples = samples_,
                                            .busy = std::move(busy),
                                            .instances = {},
                                            .holders = {}});
    if (second_) {
      reading.devices.push_back(*second_);
      reading.devices.back().at = now_;
    }
    table_.Take(reading);
    now_ += seconds(1);
  }
  const ProcessTable::Rows& rows(DeviceNumber device = kGpu0) const {
    return table_.devices().at(device);
  }
  const ProcessRow& Row(uint32_t pid, uint64_t start_ticks) const {
    return rows().at({.pid = pid, .start_ticks = start_ticks});
  }
  // The pids of the residents of GPU 0, ascending.
  std::vector<uint32_t> Residents() const {
    std::vector<uint32_t> pids;
    for (const Resident& resident : table_.intervals().front().residents) {
      pids.push_back(resident.process.pid);
    }
    return pids;
  }

  ProcessTable table_{{.retention = minutes(5), .all_processes = false}};
  Instant now_{std::chrono::hours(1)};
  bool listed_ = true;
  BusySamples samples_ = BusySamples::kMeasured;
  std::optional<DeviceReading> second_;
};

using Pids = std::vector<uint32_t>;

TEST_F(TableTest, AProcessEndsWhenAListLacksIt) {
  const auto seven = Known(7, 100);
  Take({On(seven, 4096)},
       {{.pid = 7, .busy_percent_us = 5, .sm_percent = 40, .memory_percent = 3}});
  EXPECT_TRUE(Row(7, 100).active);
  EXPECT_EQ(Row(7, 100).memory_bytes, 4096U);
  EXPECT_EQ(Row(7, 100).sm_percent, 40U);
  Take({});
  EXPECT_FALSE(Row(7, 100).active);
  EXPECT_EQ(Row(7, 100).memory_bytes, 4096U);
  EXPECT_EQ(Row(7, 100).sm_percent, 40U);
  EXPECT_EQ(Row(7, 100).memory_percent, 3U);
}

TEST_F(TableTest, ARowKnowsTheListsThatHaveIt) {
  const auto seven = Known(7, 100);
  ListedProcess drawing = On(seven);
  drawing.graphics = true;
  Take({On(seven), drawing});
  EXPECT_TRUE(Row(7, 100).computes);
  EXPECT_TRUE(Row(7, 100).draws);
  Take({drawing});
  EXPECT_FALSE(Row(7, 100).computes) << "as of the newest reading";
  EXPECT_TRUE(Row(7, 100).draws);
}

TEST_F(TableTest, LateSamplesOfAPidBelongToTheProcessThatHadItLast) {
  for (const uint64_t last : std::initializer_list<uint64_t>{
           200, 100, 300}) {  // Rows are in order of starts, not of ends.
    Take({On(Known(7, last))});
    Take({});
    Take({}, {{.pid = 7, .busy_percent_us = 5, .sm_percent = 40, .memory_percent = 3}});
    ASSERT_EQ(Residents(), Pids{7});
    EXPECT_EQ(table_.intervals().front().residents.front().process.start_ticks, last);
  }
}

TEST_F(TableTest, RemovesARowAfterItsRetention) {
  Take({On(Known(7, 100))});
  Take({});
  now_ += minutes(5) - seconds(2);
  Take({});
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_TRUE(table_.forgotten().empty());
  Take({});
  EXPECT_TRUE(rows().empty());
  ASSERT_EQ(table_.forgotten().size(), 1U);
  EXPECT_EQ(table_.forgotten().front(), (ProcessOnDevice{{7, 100}, kGpu0}));
  Take({});
  EXPECT_TRUE(table_.forgotten().empty());
}

TEST_F(TableTest, WithoutRetentionRemovesARowAtOnce) {
  table_ = ProcessTable({.retention = seconds(0), .all_processes = false});
  Take({On(Known(7, 100))});
  EXPECT_EQ(rows().size(), 1U);
  Take({});
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(Residents(), Pids{7}) << "it was there at the start of the interval";
}

// The process is missing from one list and then listed again: it never ended.
TEST_F(TableTest, AProcessThatComesBackContinuesItsRow) {
  const auto seven = Known(7, 100);
  Take({On(seven)});
  Take({});
  Take({On(seven)});
  EXPECT_TRUE(Row(7, 100).active);
  now_ += minutes(10);
  Take({On(seven)});
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(TableTest, AReusedPidMakesANewRow) {
  Take({On(Known(7, 100))});
  Take({On(Known(7, 200))}, {{.pid = 7, .busy_percent_us = 5, .sm_percent = 50}});
  ASSERT_EQ(rows().size(), 2U);
  EXPECT_FALSE(Row(7, 100).active);
  EXPECT_TRUE(Row(7, 200).active);
  EXPECT_EQ(Row(7, 100).sm_percent, 0U);
  EXPECT_EQ(Row(7, 200).sm_percent, 50U);
  const std::vector<Resident>& residents = table_.intervals().front().residents;
  ASSERT_EQ(residents.size(), 2U) << "both ran in this interval";
  EXPECT_EQ(residents[0].busy, 0U);
  EXPECT_EQ(residents[1].busy, 5U);
}

TEST_F(TableTest, ForgetsAProcessWhoseLabelsAnotherProcessTakesOver) {
  const auto old_one = Known(7, 100);
  Take({On(old_one)});
  Take({On(Known(7, 200))});
  EXPECT_TRUE(Row(7, 100).replaced);
  EXPECT_EQ(table_.forgotten(), (std::vector<ProcessOnDevice>{{{7, 100}, kGpu0}}));
  const uint64_t generation = table_.generation();
  Take({On(old_one), On(Known(7, 200))});
  EXPECT_FALSE(Row(7, 100).replaced) << "a running process keeps its labels";
  EXPECT_NE(table_.generation(), generation);
  Take({On(Known(7, 300, "another-pod"))});
  EXPECT_FALSE(Row(7, 200).replaced) << "the labels of pid 7 have changed";
}

TEST_F(TableTest, AProcessOnTwoDevicesHasTwoRows) {
  const auto seven = Known(7, 100);
  second_ = DeviceReading{.device = kGpu1, .at = {}, .counter_mj = {}, .processes = {On(seven)}};
  Take({On(seven)});
  EXPECT_EQ(rows(kGpu0).size(), 1U);
  EXPECT_EQ(rows(kGpu1).size(), 1U);
  Take({});
  EXPECT_FALSE(rows(kGpu0).begin()->second.active);
  EXPECT_TRUE(rows(kGpu1).begin()->second.active);
}

TEST_F(TableTest, AFailedListEndsNoProcess) {
  Take({On(Known(7, 100))});
  listed_ = false;
  Take({});
  EXPECT_TRUE(Row(7, 100).active);
  EXPECT_FALSE(table_.intervals().front().residents_known);
}

TEST_F(TableTest, AMissingDeviceEndsItsProcesses) {
  second_ =
      DeviceReading{.device = kGpu1, .at = {}, .counter_mj = 5, .processes = {On(Known(8, 1))}};
  Take({});
  second_.reset();
  Take({});
  EXPECT_FALSE(rows(kGpu1).begin()->second.active);
  ASSERT_EQ(table_.intervals().size(), 2U);
  EXPECT_FALSE(table_.intervals()[1].residents_known);
  EXPECT_FALSE(table_.intervals()[1].counter_mj.has_value());
}

// Takes a reading of GPU 0 in which accounting reports these processes.
class EndedTest : public TableTest {
 protected:
  void TakeEnded(std::vector<EndedProcess> ended, std::vector<ProcessBusy> busy = {},
                 std::vector<ListedProcess> processes = {}) {
    ProcessReading reading{.at = now_, .devices = {}};
    reading.devices.push_back({.device = kGpu0,
                               .at = now_,
                               .counter_mj = 0,
                               .processes = std::move(processes),
                               .ended = std::move(ended),
                               .busy = std::move(busy)});
    table_.Take(reading);
    now_ += seconds(1);
  }
  static EndedProcess Ended(uint32_t pid, int64_t born_us) {
    return {.pid = pid,
            .sm_percent = 60,
            .memory_percent = 20,
            .memory_bytes = 4'096,
            .started_at = WallTime(std::chrono::microseconds(born_us)),
            .identity = nullptr};
  }
};

TEST_F(EndedTest, AProcessThatLivedBetweenTwoReadingsHasAnEndedRow) {
  table_ = ProcessTable({.retention = minutes(5), .all_processes = true});
  const uint64_t before = table_.generation();
  TakeEnded({Ended(7, 1'000)}, {{.pid = 7, .busy_percent_us = 9, .sm_percent = 80}});
  EXPECT_GT(table_.generation(), before);
  const ProcessRow& row = Row(7, 1'000);
  EXPECT_FALSE(row.active);
  EXPECT_TRUE(row.listed);
  EXPECT_EQ(row.memory_bytes, 4'096U);
  EXPECT_EQ(row.sm_percent, 60U) << "the mean of its whole life";
  EXPECT_EQ(row.busy, 9U) << "its busy time is charged";
  EXPECT_EQ(Residents(), Pids{7});
  TakeEnded({Ended(7, 1'000)});
  EXPECT_EQ(rows().size(), 1U) << "reported twice";
  TakeEnded({Ended(7, 2'000)});
  EXPECT_EQ(rows().size(), 2U) << "another process used its pid";
  now_ += minutes(5);
  TakeEnded({});
  EXPECT_TRUE(rows().empty());
}

TEST_F(EndedTest, ContinuesTheRowThatSamplesMade) {
  Take({}, {{.pid = 7, .busy_percent_us = 9, .sm_percent = 80}});
  TakeEnded({Ended(7, 1'000)});
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(Row(7, 0).sm_percent, 60U);
  EXPECT_FALSE(Row(7, 0).listed) << "its container is unknown";
}

TEST_F(EndedTest, AddsNoRowForAProcessThatIsListedOrJustEnded) {
  Take({On(Known(7, 100))});
  TakeEnded({Ended(7, 1'000)});
  EXPECT_EQ(rows().size(), 1U);
  TakeEnded({Ended(8, 1'000)}, {}, {On(Known(8, 300))});
  EXPECT_EQ(rows().size(), 2U);
}

TEST_F(EndedTest, IdentifiesAProcessThatStillRunsWithoutAGpu) {
  EndedProcess ended = Ended(7, 1'000);
  ended.identity = Known(7, 100);
  TakeEnded({ended});
  EXPECT_TRUE(Row(7, 100).listed);
  EXPECT_FALSE(Row(7, 100).active);
  EXPECT_EQ(table_.pods().UidOf(Row(7, 100).pod), "pod-a");
}

TEST_F(EndedTest, LimitsTheRowsOfEndedProcesses) {
  std::vector<EndedProcess> many;
  for (uint32_t pid = 1; pid <= 3'000; ++pid) {
    many.push_back(Ended(pid, 1'000 + pid));
  }
  TakeEnded(many);
  EXPECT_EQ(rows().size(), 1'000U);
}

TEST_F(TableTest, ListsOnlyProcessesInContainersByDefault) {
  for (const bool all : {false, true}) {
    table_ = ProcessTable({.retention = minutes(5), .all_processes = all});
    Take({On(Known(7, 100)), On(Known(8, 100, "")), {.pid = 9}});
    EXPECT_TRUE(Row(7, 100).listed);
    EXPECT_EQ(Row(8, 100).listed, all);
    EXPECT_EQ(Row(9, 0).listed, all);
    EXPECT_EQ(table_.pods().UidOf(Row(7, 100).pod), "pod-a");
    EXPECT_EQ(Row(8, 100).pod, kNoPod);
  }
}

TEST_F(TableTest, ChangesTheGenerationWhenSeriesChange) {
  const auto seven = Known(7, 100);
  Take({});
  EXPECT_GT(table_.generation(), 0U) << "a device without processes has series";
  Take({On(seven)});
  const uint64_t born = table_.generation();
  Take({On(seven), On(Known(8, 100, ""))});
  Take({});
  EXPECT_EQ(table_.generation(), born) << "neither numbers nor rows without series change it";
  Take({On(seven), On(Known(9, 5))});
  EXPECT_GT(table_.generation(), born);
  const uint64_t two = table_.generation();
  now_ += minutes(6);
  Take({On(seven)});
  now_ += minutes(6);
  Take({On(seven)});
  EXPECT_GT(table_.generation(), two);
}

TEST_F(TableTest, FindsTheContainerOfAProcessLater) {
  Take({On(Known(7, 100, ""))});
  EXPECT_FALSE(Row(7, 100).listed);
  Take({On(Known(7, 100, "pod-b"))});
  EXPECT_TRUE(Row(7, 100).listed);
  EXPECT_EQ(table_.pods().UidOf(Row(7, 100).pod), "pod-b");
  Take({On(Known(7, 100, "pod-c"))});
  EXPECT_EQ(table_.pods().UidOf(Row(7, 100).pod), "pod-b") << "labels never change";
}

TEST_F(TableTest, ChargesBusyTimeToTheRightProcess) {
  const auto seven = Known(7, 100);
  const auto eight = Known(8, 100);
  Take({On(seven), On(eight)});
  // 7 has exited inside the interval, 9 came and went in it; 8 has no record: it was idle.
  Take({On(eight)}, {{.pid = 7, .busy_percent_us = 30}, {.pid = 9, .busy_percent_us = 20}});
  EXPECT_EQ(Residents(), (Pids{7, 8, 9}));
  const std::vector<Resident>& residents = table_.intervals().front().residents;
  EXPECT_EQ(residents[0].busy, 30U);
  EXPECT_EQ(residents[1].busy, 0U);
  EXPECT_EQ(residents[2].busy, 20U);
  EXPECT_FALSE(residents[2].listed) << "its identity can no longer be found";
  EXPECT_EQ(Row(8, 100).sm_percent, 0U);
  // A late sample of 7 still counts for 7. An idle record of an unknown process makes no row.
  Take({On(eight)}, {{.pid = 7, .busy_percent_us = 10}, {.pid = 55, .busy_percent_us = 0}});
  EXPECT_EQ(Residents(), (Pids{7, 8}));
  Take({On(eight)});
  EXPECT_EQ(Residents(), (Pids{8}));
}

TEST_F(TableTest, HasNoUtilizationWithoutSamples) {
  for (const BusySamples samples : {BusySamples::kNotSupported, BusySamples::kMissing}) {
    samples_ = samples;
    Take({On(Known(7, 100))});
    EXPECT_FALSE(Row(7, 100).sm_percent.has_value());
    EXPECT_FALSE(Row(7, 100).memory_percent.has_value());
    EXPECT_EQ(table_.intervals().front().samples, samples);
  }
}

TEST_F(TableTest, CountsAProcessOnSeveralListsOnce) {
  const auto seven = Known(7, 100);
  Take({On(seven, 100), On(seven, 300), On(seven, std::nullopt), On(seven, 200)});
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_EQ(Row(7, 100).memory_bytes, 300U);
  EXPECT_EQ(Residents(), Pids{7});
}

TEST_F(TableTest, AnMpsServerIsNoResidentBesideItsClients) {
  auto server = std::make_shared<ProcessIdentity>(*Known(3, 1, ""));
  server->name = "nvidia-cuda-mps";
  ListedProcess client = On(Known(7, 100));
  Take({On(server), client});
  EXPECT_EQ(Residents(), (Pids{3, 7})) << "the name alone does not make it a server";
  client.mps_client = true;
  Take({On(server), client});
  EXPECT_EQ(Residents(), Pids{7});
}

TEST_F(TableTest, ForgetsUnusedPods) {
  const PodNumber holder = table_.pods().NumberOf("holder", now_);
  second_ = DeviceReading{.device = kGpu1, .at = {}, .counter_mj = {}, .holders = {holder}};
  Take({On(Known(7, 100, "pod-a"))});
  const PodNumber pod = Row(7, 100).pod;
  Take({});
  now_ += minutes(5) - seconds(2);
  Take({});
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_TRUE(table_.forgotten_pods().empty());
  Take({});
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(table_.forgotten_pods(), std::vector<PodNumber>{pod})
      << "it is forgotten with its last row";
  EXPECT_EQ(table_.pods().UidOf(pod), "");
  EXPECT_EQ(table_.pods().UidOf(holder), "holder");
  Take({On(Known(7, 300, "pod-a"))});
  EXPECT_NE(Row(7, 300).pod, pod) << "a number is never used for a second pod";
}

TEST(ProcessAccounts, KeepAPodsEnergyWhenItsProcessIsForgotten) {
  ProcessAccounts accounts({.retention = seconds(0), .all_processes = false}, {});
  const PodNumber pod = accounts.pods().NumberOf("pod-a", {});
  ProcessReading reading{.at = Instant(seconds(1)), .devices = {}};
  reading.devices.push_back(DeviceReading{.device = kGpu0,
                                          .at = reading.at,
                                          .counter_mj = 1000,
                                          .processes = {On(Known(7, 100))},
                                          .holders = {pod}});
  const auto step = [&](uint64_t counter_mj) {
    reading.at += seconds(1);
    reading.devices[0].at = reading.at;
    reading.devices[0].counter_mj = counter_mj;
    accounts.Take(reading);
  };
  step(1000);
  step(1600);
  const ProcessOnDevice process{{7, 100}, kGpu0};
  ASSERT_NE(accounts.ledger().Process(process), nullptr);
  EXPECT_EQ(SumMj(*accounts.ledger().Process(process)), 600U);
  reading.devices[0].processes.clear();
  step(1700);
  EXPECT_EQ(accounts.ledger().Process(process), nullptr);
  ASSERT_NE(accounts.ledger().Pod({pod, kGpu0}), nullptr);
  EXPECT_EQ(SumMj(*accounts.ledger().Pod({pod, kGpu0})), 700U);
}

TEST(ProcessAccounts, AllocateNothingForAThousandKnownProcesses) {
  ProcessAccounts accounts({}, {});
  ProcessReading reading;
  for (uint32_t device = 0; device < 8; ++device) {
    DeviceReading& gpu = reading.devices.emplace_back();
    gpu.device = {device};
    gpu.counter_mj = 0;
    for (uint32_t i = 0; i < 125; ++i) {
      const uint32_t pid = 1 + device * 125 + i;
      gpu.processes.push_back(On(Known(pid, 1, "pod-" + std::to_string(i))));
      gpu.busy.push_back({.pid = pid, .busy_percent_us = pid, .sm_percent = 1});
    }
  }
  uint64_t taken = 0;
  for (int step = 0; step < 8; ++step) {
    reading.at += seconds(1);
    for (DeviceReading& gpu : reading.devices) {
      gpu.at = reading.at;
      *gpu.counter_mj += 400'000;
    }
    const Allocations before = AllocationsOfThisThread();
    accounts.Take(reading);
    taken = step < 3 ? 0 : taken + (AllocationsOfThisThread() - before).count;
  }
  EXPECT_EQ(taken, 0U);
  EXPECT_EQ(accounts.ledger().Device({3})->TotalMj(), 7U * 400'000U);
  EXPECT_EQ(accounts.ledger().Device({3})->unattributed_mj, 0U);
}

// Random lives on a node; the table agrees with a plain list of what the driver listed.
TEST(ProcessTableProperty, KnowsRunningAndEndedProcesses) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto retention = seconds(random() % 20);
    ProcessTable table({.retention = retention, .all_processes = random() % 2 == 0});
    std::map<ProcessKey, Instant> last_seen;
    Instant now{std::chrono::hours(1)};
    for (int step = 0; step < 150; ++step) {
      now += seconds(1 + random() % 3);
      ProcessReading reading{.at = now,
                             .devices = {{.device = kGpu0, .at = now, .counter_mj = {}}}};
      std::set<ProcessKey> listed;
      for (size_t n = random() % 6; n > 0; --n) {
        const auto identity = Known(static_cast<uint32_t>(1 + random() % 5), random() % 3,
                                    random() % 3 == 0 ? "" : "u");
        listed.insert(identity->key);
        reading.devices[0].processes.push_back(On(identity));
      }
      std::map<ProcessKey, bool> expected;
      for (const auto& [key, row] :
           table.devices().contains(kGpu0) ? table.devices().at(kGpu0) : ProcessTable::Rows{}) {
        const Instant ended = row.active ? now : row.ended_at;
        if (listed.contains(key) || now - ended < retention) {
          expected[key] = listed.contains(key);
        }
      }
      for (const ProcessKey& key : listed) {
        expected[key] = true;
      }
      table.Take(reading);
      std::map<ProcessKey, bool> found;
      for (const auto& [key, row] : table.devices().at(kGpu0)) {
        found[key] = row.active;
      }
      ASSERT_EQ(found, expected) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace podgpu
