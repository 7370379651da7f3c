// Processes of a world: when each lived, how much memory it held at most, which have ended.
#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kGib = INT64_C(1) << 30;

// One GPU: memory that changes by phase, a pid that is used again, and a job that never ends.
constexpr char kLives[] = R"(format: 1
name: lives
seed: 3
gpus: [{count: 2, class: h100-sxm5-80gb}]
loads:
  swell: {phases: [{for: 2s, sm: 50%, memory: 3GiB}, {for: 1s, memory: 9GiB},
                   {for: 2s, memory: 4GiB}]}
pods:
  - {name: a, start: 1s, stop: 4s, containers: [{name: main, gpus: [0],
       processes: [{pid: 7, load: swell}]}]}
  - {name: b, start: 10s, containers: [{name: main, gpus: [0], processes: [{pid: 7, load: swell}]}]}
churn:
  - {template: job, start: 2s, every: 4s, life: 3s, gpus: [0, 1], load: {sm: 10%}, memory: 1GiB}
)";

std::vector<int> PidsOf(const std::vector<ProcessLife>& lives) {
  std::vector<int> pids;
  for (const ProcessLife& life : lives) {
    pids.push_back(life.pid);
  }
  return pids;
}

TEST(ProcessLives, FindsTheLatestProcessWithAPid) {
  const TestWorld world(kLives);
  EXPECT_FALSE(world->FindProcess(7, kSecondUs - 1).has_value());
  EXPECT_FALSE(world->FindProcess(8, 20 * kSecondUs).has_value());
  struct Row {
    TimeUs at_us, started_us, stopped_us;
    int64_t peak_gib;
  };
  constexpr TimeUs kEver = INT64_MAX;
  const std::vector<Row> rows = {
      {kSecondUs, kSecondUs, kEver, 3},
      {3 * kSecondUs - 1, kSecondUs, kEver, 3},
      {3 * kSecondUs, kSecondUs, kEver, 9},
      {4 * kSecondUs, kSecondUs, 4 * kSecondUs, 9},
      {9 * kSecondUs, kSecondUs, 4 * kSecondUs, 9},
      {10 * kSecondUs, 10 * kSecondUs, kEver, 3},
      {12 * kSecondUs, 10 * kSecondUs, kEver, 9},
  };
  for (const Row& row : rows) {
    const std::optional<ProcessLife> life = world->FindProcess(7, row.at_us);
    ASSERT_TRUE(life.has_value()) << row.at_us;
    EXPECT_EQ(life->started, row.started_us) << row.at_us;
    EXPECT_EQ(life->stopped, row.stopped_us) << row.at_us;
    EXPECT_EQ(life->peak_memory_bytes, row.peak_gib * kGib) << row.at_us;
    EXPECT_EQ(life->device.gpu, 0);
  }
}

TEST(ProcessLives, ListsEndedProcessesLatestFirst) {
  const TestWorld world(kLives);
  const int first = 1'000'000;  // Of the job: one pid per GPU and cycle.
  EXPECT_TRUE(world->EndedProcesses(0, -1, 4 * kSecondUs - 1, 100).empty());
  EXPECT_EQ(PidsOf(world->EndedProcesses(0, -1, 4 * kSecondUs, 100)), std::vector<int>{7});
  EXPECT_EQ(PidsOf(world->EndedProcesses(0, -1, 15 * kSecondUs, 100)),
            std::vector<int>({first + 4, first + 2, first, 7}));  // At 13, 9, 5 and 4 s.
  EXPECT_EQ(PidsOf(world->EndedProcesses(1, -1, 15 * kSecondUs, 100)),
            std::vector<int>({first + 5, first + 3, first + 1}));
  EXPECT_EQ(PidsOf(world->EndedProcesses(0, 5 * kSecondUs, 15 * kSecondUs, 100)),
            std::vector<int>({first + 4, first + 2}))
      << "a process that ends at that moment is included";
  EXPECT_EQ(PidsOf(world->EndedProcesses(0, -1, 15 * kSecondUs, 2)),
            std::vector<int>({first + 4, first + 2}));
  const std::vector<ProcessLife> far = world->EndedProcesses(0, -1, 1'000'000 * kSecondUs, 4'000);
  ASSERT_EQ(far.size(), 4'000U);
  EXPECT_EQ(far.front().stopped - far.back().stopped, 3'999 * 4 * kSecondUs);
  EXPECT_EQ(far.front().peak_memory_bytes, kGib);
}

// World's facts about each process, compared with a scan of the node every 50 ms.
TEST(ProcessLives, AgreeWithAScanOfTheNode) {
  for (const char* name : {"churn", "time-slicing", "mig-mixed"}) {
    const TestWorld world(ShippedScenario(name));
    constexpr TimeUs kStep = 50'000;
    constexpr TimeUs kEnd = 130 * kSecondUs;
    struct Seen {
      TimeUs started = 0, last = 0;
      int64_t most_bytes = 0;
    };
    std::map<int, Seen> seen;
    for (TimeUs t = 0; t <= kEnd; t += kStep) {
      for (int i = 0; i < world->process_count(t); ++i) {
        const ProcessFacts process = world->process(i, t);
        Seen& one = seen[process.pid];
        one = {process.started, t, std::max(one.most_bytes, process.memory_bytes)};
      }
    }
    ASSERT_FALSE(seen.empty());
    for (const auto& [pid, one] : seen) {
      const std::optional<ProcessLife> life = world->FindProcess(pid, kEnd);
      ASSERT_TRUE(life.has_value()) << name << " " << pid;
      EXPECT_EQ(life->started, one.started) << name << " " << pid;
      EXPECT_EQ(std::min(life->stopped, kEnd + kStep), one.last + kStep) << name << " " << pid;
      EXPECT_EQ(life->peak_memory_bytes, one.most_bytes) << name << " " << pid;
    }
  }
}

TEST(ProcessLives, CountsEveryEnginePerProcess) {
  const TestWorld world(R"(format: 1
name: media
gpus: [{class: l40s}]
loads:
  film: {phases: [{for: 1s, sm: 10%, mem: 20%, enc: 30%, dec: 40%, jpg: 50%, ofa: 60%}]}
pods:
  - {name: a, containers: [{name: main, gpus: [0], processes: [{pid: 7, load: film}]}]}
)");
  const auto percent = [&](Integral what) {
    return static_cast<int>(world->IntegrateProcess(what, 7, kSecondUs) / 10'000 / kSecondUs);
  };
  EXPECT_EQ(percent(Integral::kSmPpmUs), 10);
  EXPECT_EQ(percent(Integral::kDramPpmUs), 20);
  EXPECT_EQ(percent(Integral::kEncoderPpmUs), 30);
  EXPECT_EQ(percent(Integral::kDecoderPpmUs), 40);
  EXPECT_EQ(percent(Integral::kJpegPpmUs), 50);
  EXPECT_EQ(percent(Integral::kOfaPpmUs), 60);
  EXPECT_EQ(percent(Integral::kPcieTxBytes), 0) << "PCIe traffic is not known per process";
}

}  // namespace
}  // namespace podgpu::sim
