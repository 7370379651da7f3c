#include "source/nvml/accounting.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"
#include "base/testing/manual_clock.h"
#include "source/nvml/processes.h"
#include "source/testing/fake_nvml_table.h"
#include "source/testing/fake_proc_files.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class AccountingTest : public ::testing::Test {
 protected:
  AccountingTest() {
    nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}};
    clock_.Advance(seconds(1'000));
  }

  void Open(bool enable, const Files& files) {
    processes_ = std::make_unique<NvmlProcesses>(
        nvml_.Library(), NvmlProcessesOptions{.enable_accounting = enable}, files, clock_);
  }
  // Makes the next reading.
  const DeviceReading& Read(size_t device = 0) {
    clock_.Advance(seconds(1));
    EXPECT_TRUE(processes_->Read(reading_).ok());
    return reading_.devices.at(device);
  }
  uint64_t NowUs() const { return static_cast<uint64_t>(ToMicroseconds(clock_.WallNow())); }
  // Adds a process that started now; unless it runs, it lived for 300 ms.
  void Live(uint32_t pid, bool runs = false) {
    abi::nvmlAccountingStats_v2_t life{};
    life.pid = pid;
    life.isRunning = runs ? 1 : 0;
    life.gpuUtilization = 60;
    life.memoryUtilization = 20;
    life.maxMemoryUsage = 4'096;
    life.time = runs ? 0 : 300;
    life.startTime = NowUs();
    nvml_.gpus[0].accounting.lives.push_back(life);
  }
  void End(uint32_t pid) {
    for (abi::nvmlAccountingStats_v2_t& life : nvml_.gpus[0].accounting.lives) {
      life.isRunning = life.pid == pid ? 0 : life.isRunning;
    }
  }
  int Asked() const {
    return nvml_.CountOf("nvmlDeviceGetAccountingStats_v2") +
           nvml_.CountOf("nvmlDeviceGetAccountingStats");
  }

  const FakeFiles nobody_;  // All processes have ended.
  const FakeProcFiles files_;
  ManualClock clock_;
  FakeNvml nvml_;
  std::unique_ptr<NvmlProcesses> processes_;
  ProcessReading reading_;
};

TEST_F(AccountingTest, IsReadButNotSwitchedOnByDefault) {
  nvml_.gpus[1].accounting.is_on = true;
  Open(false, nobody_);
  EXPECT_EQ(Read().accounting, Accounting::kOff);
  EXPECT_EQ(reading_.devices[1].accounting, Accounting::kOn);
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceSetAccountingMode"), 0);
  EXPECT_EQ(processes_->Complaint(), "");
  EXPECT_NE(processes_->Describe().find("of 2 GPUs; accounting is on for 1"), std::string::npos);
}

TEST_F(AccountingTest, ReportsWhyItCannotBeRead) {
  const struct {
    int code;
    Accounting told;
  } rows[] = {{abi::NVML_ERROR_NOT_SUPPORTED, Accounting::kNotSupported},
              {abi::NVML_ERROR_NO_PERMISSION, Accounting::kNotPermitted},
              {abi::NVML_ERROR_UNKNOWN, Accounting::kFailed}};
  Open(true, nobody_);
  for (const auto& row : rows) {
    nvml_.FailWith({{"nvmlDeviceGetAccountingMode", row.code}});
    EXPECT_EQ(Read().accounting, row.told) << row.code;
  }
  nvml_.FailWith({});
  nvml_.without = {"nvmlDeviceGetAccountingMode"};
  Open(true, nobody_);
  EXPECT_EQ(Read().accounting, Accounting::kNotSupported);
}

TEST_F(AccountingTest, IsSwitchedOnAndAgainAfterTheDriverWasReloaded) {
  Open(true, nobody_);
  EXPECT_EQ(Read().accounting, Accounting::kOn);
  Read();
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceSetAccountingMode"), 2) << "once each";
  nvml_.SetDown(true);
  EXPECT_FALSE(processes_->Read(reading_).ok());
  nvml_.SetDown(false);
  for (FakeNvmlGpu& gpu : nvml_.gpus) {
    gpu.accounting = {};
  }
  EXPECT_EQ(Read().accounting, Accounting::kOn);
  EXPECT_TRUE(nvml_.gpus[1].accounting.is_on);
}

TEST_F(AccountingTest, ARefusalIsReportedAndRetried) {
  nvml_.FailWith({{"nvmlDeviceSetAccountingMode", abi::NVML_ERROR_NO_PERMISSION}});
  Open(true, nobody_);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(Read().accounting, Accounting::kOff);
  }
  EXPECT_EQ(nvml_.CountOf("nvmlDeviceSetAccountingMode"), 2);
  const std::string complaint = processes_->Complaint();
  EXPECT_NE(complaint.find("for 2 GPUs (NVML 4: No Permission)"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("podgpu doctor --enable-accounting"), std::string::npos) << complaint;
  nvml_.FailWith({});
  clock_.Advance(seconds(60));
  EXPECT_EQ(Read().accounting, Accounting::kOn);
  EXPECT_EQ(processes_->Complaint(), "");
}

TEST_F(AccountingTest, ASwitchThatHasNoEffectCountsAsRefused) {
  nvml_.gpus[0].accounting.obeys = false;
  Open(true, nobody_);
  EXPECT_EQ(Read().accounting, Accounting::kOff);
  EXPECT_NE(processes_->Complaint(), "");
}

TEST_F(AccountingTest, StaysOffInMigModeWithoutAComplaint) {
  nvml_.gpus[0].mig_enabled = true;
  Open(true, nobody_);
  EXPECT_EQ(Read().accounting, Accounting::kOff);
  EXPECT_EQ(reading_.devices[1].accounting, Accounting::kOn);
  EXPECT_EQ(processes_->Complaint(), "");
}

TEST_F(AccountingTest, ReportsProcessesThatLivedBetweenTwoReadings) {
  nvml_.gpus[0].accounting.is_on = true;
  Live(7);
  Open(false, nobody_);
  EXPECT_TRUE(Read().ended.empty()) << "older records are history";
  EXPECT_EQ(Asked(), 0);
  const uint64_t born_us = NowUs();
  Live(8);
  const std::vector<EndedProcess> ended = Read().ended;
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].pid, 8U);
  EXPECT_EQ(ended[0].sm_percent, 60U);
  EXPECT_EQ(ended[0].memory_percent, 20U);
  EXPECT_EQ(ended[0].memory_bytes, 4'096U);
  EXPECT_EQ(ended[0].started_at, WallTime(std::chrono::microseconds(born_us)));
  EXPECT_EQ(ended[0].identity, nullptr);
  EXPECT_TRUE(Read().ended.empty()) << "each once";
  EXPECT_EQ(Asked(), 1);
}

TEST_F(AccountingTest, DoesNotReportProcessesThatWereOnAList) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, nobody_);
  Read();
  Live(9, true);
  nvml_.gpus[0].processes = {{.pid = 9}};
  EXPECT_TRUE(Read().ended.empty());
  nvml_.gpus[0].processes.clear();
  End(9);
  EXPECT_TRUE(Read().ended.empty());
  EXPECT_EQ(Asked(), 0);
}

TEST_F(AccountingTest, AProcessThatStartedAfterTheListsHasNotEnded) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, nobody_);
  Read();
  Live(10, true);  // Not on a list yet.
  EXPECT_TRUE(Read().ended.empty()) << "it runs; its time is 0";
  End(10);
  EXPECT_EQ(Read().ended.size(), 1U) << "it ended before a list could show it";
}

TEST_F(AccountingTest, RetriesAFailedQuestionAndDropsPidsThatTheDriverDropped) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, nobody_);
  Read();
  Live(11);
  nvml_.FailWith({{"nvmlDeviceGetAccountingStats_v2", abi::NVML_ERROR_UNKNOWN}});
  EXPECT_TRUE(Read().ended.empty());
  nvml_.FailWith({});
  EXPECT_EQ(Read().ended.size(), 1U);
  Live(12);
  nvml_.FailWith({{"nvmlDeviceGetAccountingStats_v2", abi::NVML_ERROR_NOT_FOUND}});
  EXPECT_TRUE(Read().ended.empty());
  const int asked = Asked();
  Read();
  EXPECT_EQ(Asked(), asked);
}

TEST_F(AccountingTest, ReportsNoEndedProcessWhenAListIsMissing) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, nobody_);
  Read();
  Live(13, true);
  nvml_.FailWith({{"nvmlDeviceGetComputeRunningProcesses_v3", abi::NVML_ERROR_UNKNOWN}});
  EXPECT_TRUE(Read().ended.empty());
  End(13);
  EXPECT_TRUE(Read().ended.empty()) << "it may have been on the missing list";
  nvml_.FailWith({});
  EXPECT_EQ(Read().ended.size(), 1U);
}

TEST_F(AccountingTest, UsesTheOlderCallAndLimitsQuestionsPerReading) {
  nvml_.gpus[0].accounting.is_on = true;
  nvml_.without = {"nvmlDeviceGetAccountingStats_v2"};
  Open(false, nobody_);
  Read();
  for (uint32_t pid = 100; pid < 700; ++pid) {
    Live(pid);
  }
  size_t told = 0;
  for (int i = 0; i < 3; ++i) {
    told += Read().ended.size();
    EXPECT_LE(reading_.devices[0].ended.size(), 256U);
  }
  EXPECT_EQ(told, 600U);
  EXPECT_EQ(Asked(), 600);
}

TEST_F(AccountingTest, IgnoresGarbage) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, nobody_);
  Read();
  Live(14);
  abi::nvmlAccountingStats_v2_t& life = nvml_.gpus[0].accounting.lives.back();
  life.gpuUtilization = ~0U;
  life.maxMemoryUsage = ~0ULL;
  life.startTime = ~0ULL;
  const EndedProcess ended = Read().ended.at(0);
  EXPECT_EQ(ended.sm_percent, 100U);
  EXPECT_FALSE(ended.memory_bytes.has_value());
  EXPECT_FALSE(ended.started_at.has_value());
}

TEST_F(AccountingTest, IdentifiesAnEndedProcessOnlyByItsStartTime) {
  nvml_.gpus[0].accounting.is_on = true;
  Open(false, files_);
  Read();
  Live(15);
  Live(16);
  nvml_.gpus[0].accounting.lives.back().startTime = 1'600'000'000'000'000;  // Before this boot.
  const std::vector<EndedProcess> ended = Read().ended;
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].identity == nullptr, ended[0].pid == 16);
  EXPECT_EQ(ended[1].identity == nullptr, ended[1].pid == 16);
}

}  // namespace
}  // namespace podgpu
