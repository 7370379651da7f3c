#include "process/busy_meter.h"

#include <limits>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"

namespace podgpu {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;
constexpr uint64_t kBeginUs = 1'700'000'000 * kSecondUs;

// Simulates a driver and processes that run in bursts: it samples every 200 ms, keeps 16 s, and
// answers with one record per busy process, which may lag behind.
class FakeDriver {
 public:
  struct Process {
    uint64_t busy_us, period_us;  // Busy for the first busy_us of each period, at full load.
    uint64_t lag_us = 0;
    uint64_t born_us = 0;
  };

  // SM time from the start until `at_us`.
  static uint64_t BusyUs(const Process& process, uint64_t at_us) {
    const uint64_t begin_us = kBeginUs + process.born_us;
    if (at_us <= begin_us) {
      return 0;
    }
    const uint64_t time_us = at_us - begin_us;
    return time_us / process.period_us * process.busy_us +
           std::min(time_us % process.period_us, process.busy_us);
  }

  std::vector<UtilizationRecord> Ask(uint64_t since_us, uint64_t now_us) const {
    constexpr uint64_t kSampleUs = 200'000;
    constexpr uint64_t kKeptUs = 16 * kSecondUs;
    std::vector<UtilizationRecord> records;
    for (const auto& [pid, process] : processes) {
      const uint64_t to_us = (now_us - process.lag_us) / kSampleUs * kSampleUs;
      const uint64_t from_us = std::max({since_us, to_us - kKeptUs, kBeginUs + process.born_us});
      if (to_us <= from_us) {
        continue;
      }
      const uint64_t busy_us = BusyUs(process, to_us) - BusyUs(process, from_us);
      const uint64_t percent = (100 * busy_us + (to_us - from_us) / 2) / (to_us - from_us);
      if (busy_us > 0) {
        records.push_back({.pid = pid,
                           .stamp_us = to_us,
                           .sm_percent = static_cast<uint32_t>(percent),
                           .memory_percent = 7,
                           .born_us = kBeginUs + process.born_us});
      }
    }
    return records;
  }

  std::map<uint32_t, Process> processes;
};

// Busy time that a meter counts per process over 120 s, in microseconds of SM time.
std::map<uint32_t, uint64_t> Metered(const FakeDriver& driver) {
  BusyMeter meter;
  std::map<uint32_t, uint64_t> busy;
  for (uint64_t now = kBeginUs + kSecondUs; now <= kBeginUs + 120 * kSecondUs; now += kSecondUs) {
    const std::vector<UtilizationRecord> records = driver.Ask(meter.Since(now), now);
    const std::vector<UtilizationRecord> late = driver.Ask(meter.LateSince(), now);
    if (const auto answer = meter.Take(records, now, late)) {
      for (const ProcessBusy& process : *answer) {
        busy[process.pid] += process.busy_percent_us / 100;
      }
    }
  }
  return busy;
}

TEST(BusyMeter, CountsTheBusyTimeOfProcesses) {
  const struct {
    const char* label;
    FakeDriver::Process process;
  } rows[] = {
      {"steady", {.busy_us = 600, .period_us = 1'000}},
      {"bursts within a second", {.busy_us = 300'000, .period_us = 500'000}},
      {"bursts of seconds", {.busy_us = 4 * kSecondUs, .period_us = 6 * kSecondUs}},
      {"long silence", {.busy_us = kSecondUs, .period_us = 20 * kSecondUs}},
      {"short silence", {.busy_us = kSecondUs, .period_us = 3 * kSecondUs}},
      {"records that lag", {.busy_us = 600, .period_us = 1'000, .lag_us = 700'000}},
      {"records that are always late", {.busy_us = 600, .period_us = 1'000, .lag_us = 3'000'000}},
      {"late, in bursts",
       {.busy_us = 4 * kSecondUs, .period_us = 6 * kSecondUs, .lag_us = 5'000'000}},
      {"late, born late",
       {.busy_us = 900, .period_us = 1'000, .lag_us = 2'500'000, .born_us = 60'300'000}},
      {"born late", {.busy_us = 900, .period_us = 1'000, .born_us = 60'300'000}},
      {"hardly busy", {.busy_us = 20, .period_us = 1'000}},
  };
  FakeDriver driver;
  uint32_t next_pid = 100;
  for (const auto& row : rows) {
    driver.processes[next_pid++] = row.process;
  }
  std::map<uint32_t, uint64_t> busy = Metered(driver);
  uint32_t pid = 100;
  for (const auto& row : rows) {
    const uint64_t end_us = kBeginUs + 120 * kSecondUs;
    const uint64_t truth = FakeDriver::BusyUs(row.process, end_us) -
                           FakeDriver::BusyUs(row.process, kBeginUs + kSecondUs);
    // Allows for whole percents and for samples that the driver has not yet reported.
    const double error = static_cast<double>(busy[pid]) - static_cast<double>(truth);
    const double untold = static_cast<double>(row.process.lag_us);
    EXPECT_LT(std::abs(error), 0.02 * static_cast<double>(truth) + 1e6 + untold) << row.label;
    EXPECT_GT(busy[pid], truth / 2) << row.label;
    ++pid;
  }
}

// The answer to the longer query also contains time that was counted before.
TEST(BusyMeter, AProcessWithoutNewSamplesIsIdleAndNotCountedAgain) {
  BusyMeter meter;
  meter.Take({}, kBeginUs);
  const auto record = [](uint64_t stamp_us, uint32_t percent) {
    return UtilizationRecord{.pid = 7, .stamp_us = stamp_us, .sm_percent = percent};
  };
  const UtilizationRecord worked = record(kBeginUs + kSecondUs, 80);
  EXPECT_EQ(meter.Take(std::span(&worked, 1), kBeginUs + kSecondUs)->size(), 1U);
  for (uint64_t second = 2; second < 30; ++second) {
    const uint64_t now = kBeginUs + second * kSecondUs;
    meter.Since(now);
    const uint64_t late_since = meter.LateSince();
    // One driver stamps by the last use, another by the last sample.
    const UtilizationRecord late[] = {worked,
                                      record(now - 500'000, late_since > worked.stamp_us ? 0 : 20)};
    for (const UtilizationRecord& told : late) {
      BusyMeter copy = meter;
      const auto answer = copy.Take({}, now, std::span(&told, told.sm_percent > 0 ? 1 : 0));
      EXPECT_TRUE(answer->empty()) << second;
    }
    meter.Take({}, now);
  }
}

TEST(BusyMeter, DoesNotCountTimeBeforeTheFirstQuery) {
  BusyMeter meter;
  EXPECT_EQ(meter.Since(kBeginUs), kBeginUs);
  const UtilizationRecord history[] = {{.pid = 7, .stamp_us = kBeginUs - 5, .sm_percent = 100}};
  EXPECT_FALSE(meter.Take(history, kBeginUs).has_value());
  EXPECT_EQ(meter.Since(kBeginUs + kSecondUs), kBeginUs);
}

TEST(BusyMeter, CountsAProcessWithoutSamplesAsIdle) {
  BusyMeter meter;
  meter.Take({}, kBeginUs);
  const auto answer = meter.Take({}, kBeginUs + kSecondUs);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->empty());
}

TEST(BusyMeter, IgnoresOldAndFutureRecords) {
  const struct {
    const char* label;
    UtilizationRecord record;
    uint64_t busy;
    size_t records;
  } rows[] = {
      {"news", {.pid = 7, .stamp_us = kBeginUs + kSecondUs, .sm_percent = 50}, 50 * kSecondUs, 1},
      {"a process that ended long ago", {.pid = 7, .stamp_us = kBeginUs, .sm_percent = 50}, 0, 0},
      {"no stamp", {.pid = 7, .stamp_us = 0, .sm_percent = 50}, 0, 0},
      {"the future",
       {.pid = 7, .stamp_us = std::numeric_limits<uint64_t>::max(), .sm_percent = 50},
       0,
       0},
      {"above 100 %",
       {.pid = 7, .stamp_us = kBeginUs + kSecondUs, .sm_percent = 4'000'000'000},
       100 * kSecondUs,
       1},
      {"born in between",
       {.pid = 7,
        .stamp_us = kBeginUs + kSecondUs,
        .sm_percent = 50,
        .born_us = kBeginUs + 900'000},
       50 * 100'000,
       1},
      {"born after its record",
       {.pid = 7,
        .stamp_us = kBeginUs + kSecondUs,
        .sm_percent = 50,
        .born_us = kBeginUs + 2 * kSecondUs},
       0,
       1},
  };
  for (const auto& row : rows) {
    BusyMeter meter;
    meter.Take({}, kBeginUs);
    const auto answer = meter.Take(std::span(&row.record, 1), kBeginUs + kSecondUs);
    ASSERT_TRUE(answer.has_value());
    ASSERT_EQ(answer->size(), row.records) << row.label;
    if (row.records > 0) {
      EXPECT_EQ(answer->front().busy_percent_us, row.busy) << row.label;
      EXPECT_LE(answer->front().sm_percent, 100U);
    }
  }
}

TEST(BusyMeter, AddsUpSeveralRecordsOfAProcess) {
  BusyMeter meter;
  meter.Take({}, kBeginUs);
  const UtilizationRecord records[] = {
      {.pid = 9, .stamp_us = kBeginUs + 400'000, .sm_percent = 20, .memory_percent = 1},
      {.pid = 7, .stamp_us = kBeginUs + 1'000'000, .sm_percent = 10, .memory_percent = 5},
      {.pid = 7, .stamp_us = kBeginUs + 500'000, .sm_percent = 90, .memory_percent = 9}};
  const auto answer = meter.Take(records, kBeginUs + kSecondUs);
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->size(), 2U);
  EXPECT_EQ((*answer)[0].pid, 7U);
  EXPECT_EQ((*answer)[0].busy_percent_us, 90U * 500'000 + 10U * 500'000);
  EXPECT_EQ((*answer)[0].sm_percent, 10U);
  EXPECT_EQ((*answer)[0].memory_percent, 5U);
  EXPECT_EQ((*answer)[1].busy_percent_us, 20 * kSecondUs)
      << "its average counts for the whole interval";
}

TEST(BusyMeter, StartsAgainWhenCivilTimeIsSetBack) {
  BusyMeter meter;
  meter.Take({}, kBeginUs);
  const uint64_t back = kBeginUs - 3600 * kSecondUs;
  EXPECT_EQ(meter.Since(back), back);
  EXPECT_FALSE(meter.Take({}, back).has_value());
  const UtilizationRecord record = {.pid = 7, .stamp_us = back + kSecondUs, .sm_percent = 30};
  EXPECT_EQ(meter.Since(back + kSecondUs), back);
  EXPECT_EQ(meter.Take(std::span(&record, 1), back + kSecondUs)->front().busy_percent_us,
            30 * kSecondUs);
}

// A birth stamp uses the civil time at which the process was first seen.
TEST(BusyMeter, CountsAProcessBornBeforeCivilTimeWasSetBack) {
  BusyMeter meter;
  meter.Take({}, kBeginUs);
  const UtilizationRecord record = {.pid = 7,
                                    .stamp_us = kBeginUs + kSecondUs,
                                    .sm_percent = 30,
                                    .born_us = kBeginUs + 1800 * kSecondUs};
  EXPECT_EQ(meter.Take(std::span(&record, 1), kBeginUs + kSecondUs)->front().busy_percent_us,
            30 * kSecondUs);
}

// For any records, no process is busier than the time since it was last counted.
TEST(BusyMeter, NeverCountsMoreThanTheTimeThatPassed) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    BusyMeter meter;
    uint64_t now = kBeginUs;
    std::map<uint32_t, uint64_t> busy;
    for (int step = 0; step < 60; ++step) {
      now += random() % (3 * kSecondUs);
      const uint64_t since = meter.Since(now);
      EXPECT_LE(since, now);
      std::vector<UtilizationRecord> records(random() % 6);
      for (UtilizationRecord& record : records) {
        record = {.pid = static_cast<uint32_t>(random() % 3),
                  .stamp_us = random() % 9 == 0 ? random() : now - random() % (5 * kSecondUs),
                  .sm_percent = static_cast<uint32_t>(random() % 120),
                  .born_us = random() % 4 == 0 ? now - random() % kSecondUs : 0};
      }
      std::vector<UtilizationRecord> late(records);
      for (UtilizationRecord& record : late) {
        record.stamp_us -= std::min(record.stamp_us, random() % (12 * kSecondUs));
      }
      if (const auto answer = meter.Take(records, now, late)) {
        for (const ProcessBusy& process : *answer) {
          busy[process.pid] += process.busy_percent_us;
        }
      }
    }
    for (const auto& [pid, sum] : busy) {
      EXPECT_LE(sum, 100 * (now - kBeginUs)) << "seed " << seed;
    }
  }
}

TEST(BusyMeter, KeepsItsMemory) {
  FakeDriver driver;
  for (uint32_t pid = 1; pid <= 1000; ++pid) {
    driver.processes[pid] = {
        .busy_us = pid, .period_us = 2'000, .lag_us = pid % 2 == 0 ? 1'500'000U : 0};
  }
  BusyMeter meter;
  uint64_t now = kBeginUs;
  uint64_t count = 0;
  for (int step = 0; step < 12; ++step) {
    now += kSecondUs;
    const std::vector<UtilizationRecord> records = driver.Ask(meter.Since(now), now);
    const std::vector<UtilizationRecord> late = driver.Ask(meter.LateSince(), now);
    const Allocations before = AllocationsOfThisThread();
    meter.Take(records, now, late);
    count = step < 4 ? 0 : count + (AllocationsOfThisThread() - before).count;
  }
  EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace podgpu
