#include "source/dcgm/events.h"

#include <string>

#include <gtest/gtest.h>

#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

constexpr uint16_t kClockReasons = 112;
constexpr int64_t kSecondUs = 1'000'000;
constexpr const char* kSinceCall = "dcgmGetValuesSince_v2";

// A node whose XIDs and clock reasons are counted in windows of a minute.
struct CountingNode : Node {
  explicit CountingNode(int gpus = 2) : Node(gpus) {
    dcgm.Change([&] { dcgm.sample_time_us = Now(); });
  }

  int64_t Now() const { return ToMicroseconds(clock.WallNow()); }

  // Advances by `step` and reads.
  const Findings& ReadAfter(Duration step) {
    clock.Advance(step);
    if (grid == nullptr) {
      grid = Start({kClockReasons, kTemperatureId, kXidId});
    }
    grid->Clear(Absence::kNotRead);
    grid->findings.asked = {std::chrono::seconds(60),
                            counts_clocks ? std::chrono::seconds(60) : std::chrono::seconds(0)};
    status = source().Read(*grid);
    return grid->findings;
  }
  const Findings& Read() { return ReadAfter(std::chrono::seconds(1)); }

  bool counts_clocks = true;
  std::unique_ptr<Grid> grid;
  Status status;
};

TEST(DcgmEvents, CostNoCallOnAHealthyNode) {
  CountingNode node;
  node.Read();
  for (int i = 0; i < 100; ++i) {
    node.dcgm.Change([&] { node.dcgm.sample_time_us = node.Now(); });
    node.dcgm.SetInt64(abi::DCGM_FE_GPU, 0, kTemperatureId, i);
    const Findings& findings = node.Read();
    ASSERT_TRUE(node.status.ok()) << node.status;
    EXPECT_TRUE(findings.xids.empty());
    EXPECT_TRUE(findings.gpus[1].xids_known);
  }
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 0);
}

TEST(DcgmEvents, AreAllCountedWhenSeveralComeBetweenTwoReadings) {
  CountingNode node;
  node.Read();
  node.dcgm.AddSample(1, kXidId, 43, node.Now() + 1);
  node.dcgm.AddSample(1, kXidId, 43, node.Now() + 2);
  node.dcgm.AddSample(1, kXidId, 79, node.Now() + 3);
  const int64_t last_us = node.Now() + 3;
  EXPECT_EQ(node.Read().xids,
            (std::vector<XidCount>{{1, 43, 2, 2, last_us - 1}, {1, 79, 1, 1, last_us}}));
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 1);
  node.Read();
  EXPECT_EQ(node.Read().xids[0].total, 2U);
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 1) << "the same sample is not new";
  node.dcgm.AddSample(1, kXidId, 43, node.Now());
  EXPECT_EQ(node.Read().xids[0].total, 3U);
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 2);
}

TEST(DcgmEvents, AreAllCountedAfterTheGpuWasBoundAgain) {
  CountingNode node;
  node.Read();
  node.dcgm.AddSample(1, kXidId, 43, node.Now());
  ASSERT_EQ(node.Read().xids[0].total, 1U);
  node.dcgm.ForgetEntity(abi::DCGM_FE_GPU, 1);
  node.Read();
  node.dcgm.AddSample(1, kXidId, 43, node.Now() + 1);
  node.dcgm.AddSample(1, kXidId, 43, node.Now() + 2);
  EXPECT_EQ(node.Read().xids[0].total, 3U);
}

TEST(DcgmEvents, AreNotCountedAgainWhenAnotherGpuComes) {
  CountingNode node(1);
  node.Read();
  node.dcgm.AddSample(0, kXidId, 79, node.Now());
  EXPECT_EQ(node.Read().xids[0].total, 1U);
  node.dcgm.Change([&] {
    FakeGpu other = node.dcgm.gpus[0];
    other.gpu_id = 1;
    other.uuid = "GPU-other";
    node.dcgm.gpus.push_back(other);
  });
  node.grid = node.Start({kClockReasons, kTemperatureId, kXidId});
  ASSERT_EQ(node.Read().gpus.size(), 2U);
  EXPECT_EQ(node.Read().xids[0].total, 1U);
}

TEST(DcgmEvents, AreNotCountedAgainByANewConnection) {
  CountingNode node;
  node.Read();
  node.dcgm.AddSample(0, kXidId, 79, node.Now());
  EXPECT_EQ(node.Read().xids[0].total, 1U);
  node.dcgm.Kill();
  node.Read();
  EXPECT_TRUE(LostConnection(node.status));
  node.grid = node.Start({kClockReasons, kTemperatureId, kXidId});
  EXPECT_EQ(node.Read().xids[0].total, 1U);
  node.dcgm.AddSample(0, kXidId, 79, node.Now());
  EXPECT_EQ(node.Read().xids[0].total, 2U) << node.status;
}

TEST(DcgmEvents, CountOnlyTheNewestWhenTheEngineReturnsNoOthers) {
  const struct {
    const char* call;
    abi::dcgmReturn_t code;
  } rows[] = {{kSinceCall, abi::DCGM_ST_NOT_SUPPORTED},
              {kSinceCall, abi::DCGM_ST_NOT_WATCHED},
              {"dcgmGroupCreate", abi::DCGM_ST_MAX_LIMIT},
              {"dcgmGroupAddEntity", abi::DCGM_ST_BADPARAM},
              {"dcgmFieldGroupCreate", abi::DCGM_ST_MAX_LIMIT}};
  for (const auto& row : rows) {
    CountingNode node;
    node.Read();
    node.dcgm.Fail(row.call, row.code);
    node.dcgm.AddSample(0, kXidId, 13, node.Now());
    node.dcgm.AddSample(0, kXidId, 13, node.Now() + 1);
    const Findings& findings = node.Read();
    EXPECT_TRUE(node.status.ok()) << node.status;
    ASSERT_EQ(findings.xids.size(), 1U) << row.call;
    EXPECT_EQ(findings.xids[0].total, 1U) << row.call;
    ASSERT_NE(findings.events_note, nullptr) << row.call;
    EXPECT_TRUE(findings.events_note->is_fault);
    EXPECT_TRUE(findings.events_note->text.starts_with("of several events between two readings"))
        << findings.events_note->text;
    EXPECT_NE(node.Read().events_note, nullptr) << "until it returns samples again";
    node.dcgm.Heal(row.call);
    node.dcgm.AddSample(0, kXidId, 13, node.Now());
    EXPECT_EQ(node.Read().xids[0].total, 2U) << row.call;
    EXPECT_EQ(findings.events_note, nullptr) << row.call;
  }
}

TEST(DcgmEvents, WithoutTheCallAreCountedFromReadings) {
  CountingNode node;
  node.dcgm.without = {abi::DcgmCapability::kSamples};
  node.Read();
  node.dcgm.AddSample(0, kXidId, 13, node.Now());
  EXPECT_EQ(node.Read().xids[0].total, 1U);
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 0);
}

TEST(DcgmEvents, ALostConnectionIsNoticed) {
  CountingNode node;
  node.Read();
  node.dcgm.Fail(kSinceCall, abi::DCGM_ST_CONNECTION_NOT_VALID, 1);
  node.dcgm.AddSample(0, kXidId, 13, node.Now());
  node.Read();
  EXPECT_TRUE(LostConnection(node.status)) << node.status;
  node.grid = node.Start({kClockReasons, kTemperatureId, kXidId});
  EXPECT_EQ(node.Read().xids[0].total, 1U) << "counted once, later";
}

TEST(DcgmEvents, AskForClockReasonsOnlyWhenSamplesWereMissed) {
  CountingNode node(1);
  const auto sample = [&](int64_t reasons, int64_t stamp_us) {
    node.dcgm.AddSample(0, kClockReasons, reasons, stamp_us);
  };
  const int64_t first_us = node.Now();
  sample(1, first_us);
  node.Read();
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 1) << "the samples from before the start";
  for (int i = 1; i <= 5; ++i) {
    sample(1, first_us + i * kSecondUs);
    node.Read();
  }
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 1);
  EXPECT_EQ(node.grid->findings.gpus[0].clock_events[0], 6U);
  for (int i = 6; i <= 9; ++i) {
    sample(4, first_us + i * kSecondUs);
  }
  const Findings& findings = node.ReadAfter(std::chrono::seconds(4));
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 2);
  EXPECT_EQ(findings.gpus[0].clock_events[2], 4U);
  EXPECT_EQ(findings.gpus[0].clock_samples, 10U);
  sample(1, first_us + 10 * kSecondUs);
  sample(5, first_us + 3'600 * kSecondUs);
  node.ReadAfter(std::chrono::hours(1));
  EXPECT_EQ(findings.gpus[0].clock_events, (std::array<uint64_t, 9>{1, 0, 1}));
  EXPECT_EQ(findings.gpus[0].clock_event_totals, (std::array<uint64_t, 9>{1, 0, 2}))
      << "also of the time before the window";
}

TEST(DcgmEvents, DoNotCountClockReasonsUnlessAsked) {
  CountingNode node(1);
  node.counts_clocks = false;
  node.dcgm.AddSample(0, kClockReasons, 1, node.Now());
  const Findings& findings = node.Read();
  EXPECT_FALSE(findings.gpus[0].clocks_known);
  EXPECT_EQ(findings.gpus[0].clock_samples, 0U);
  EXPECT_EQ(node.dcgm.CountOf(kSinceCall), 0);
}

TEST(DcgmEvents, IgnoreBlanksAndInvalidStamps) {
  const struct {
    const char* label;
    int64_t value;
    int64_t later_us;
  } rows[] = {{"blank", abi::DCGM_INT64_BLANK, 0},
              {"a narrow blank", abi::DCGM_INT32_BLANK, 0},
              {"negative", -1, 0},
              {"in a year", 13, 365 * 86'400 * kSecondUs}};
  for (const auto& row : rows) {
    CountingNode node;
    node.Read();
    node.dcgm.AddSample(0, kXidId, row.value, node.Now() + row.later_us);
    EXPECT_TRUE(node.Read().xids.empty()) << row.label;
    EXPECT_TRUE(node.status.ok()) << row.label;
  }
}

TEST(DcgmEvents, DoNotCountSamplesOfInstances) {
  CountingNode node;
  node.AddMig();
  node.dcgm.SetInt64(abi::DCGM_FE_GPU_I, 7, kXidId, 43);
  const Findings& findings = node.Read();
  EXPECT_TRUE(findings.xids.empty());
  EXPECT_EQ(findings.gpus.size(), 2U);
}

TEST(DcgmEvents, ContinueAfterTheEnginesClockWasSetBack) {
  CountingNode node;
  node.Read();
  node.dcgm.AddSample(0, kXidId, 13, node.Now());
  node.Read();
  node.dcgm.AddSample(0, kXidId, 13, node.Now() - 3600 * kSecondUs);
  const Findings& findings = node.Read();
  EXPECT_EQ(findings.xids[0].in_window, 0U);
  EXPECT_EQ(findings.xids[0].last_us, node.Now() - 3601 * kSecondUs);
  node.dcgm.AddSample(0, kXidId, 13, node.Now() - 3599 * kSecondUs);
  node.Read();
  EXPECT_EQ(node.grid->findings.xids[0].last_us, node.Now() - 3600 * kSecondUs);
}

TEST(DcgmEvents, AreUnknownForAnUnsupportedField) {
  CountingNode node;
  node.dcgm.unwatchable = {kXidId};
  const Findings& findings = node.Read();
  EXPECT_FALSE(findings.gpus[0].xids_known);
}

}  // namespace
}  // namespace podgpu
