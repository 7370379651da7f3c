#include "source/nvml/accounting_switch.h"

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "source/testing/fake_nvml_table.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class AccountingSwitchTest : public ::testing::Test {
 protected:
  AccountingSwitchTest() { nvml_.gpus = {{"GPU-a", 0, {}}, {"GPU-b", 1, {}}}; }
  StatusOr<AccountingSwitched> Switch() {
    return SwitchAccountingOn(nvml_.Library(), clock_, tally_, seconds(60));
  }

  ManualClock clock_;
  const ThreadTally tally_ = NewThreadTally();
  FakeNvml nvml_;
};

TEST_F(AccountingSwitchTest, ReportsTheResultForEachGpu) {
  nvml_.gpus[1].accounting.is_on = true;
  StatusOr<AccountingSwitched> switched = Switch();
  ASSERT_TRUE(switched.ok());
  EXPECT_EQ(switched->lines, (std::vector<std::string>{
                                 "GPU 0 GPU-a: accounting is on now, until the driver is unloaded",
                                 "GPU 1 GPU-b: accounting is on already"}));
  EXPECT_FALSE(switched->has_failed);
  EXPECT_TRUE(nvml_.gpus[0].accounting.is_on);
  EXPECT_EQ(nvml_.initialised, 0) << "the driver is released";
}

TEST_F(AccountingSwitchTest, CountsARefusalAsFailureButNotMigMode) {
  nvml_.gpus[0].mig_enabled = true;
  StatusOr<AccountingSwitched> switched = Switch();
  ASSERT_TRUE(switched.ok());
  EXPECT_FALSE(switched->has_failed);
  EXPECT_NE(switched->lines[0].find("stays off (NVML 3): in MIG mode"), std::string::npos)
      << switched->lines[0];
  nvml_.gpus[1].accounting.is_on = false;
  nvml_.FailWith({{"nvmlDeviceSetAccountingMode", abi::NVML_ERROR_NO_PERMISSION}});
  switched = Switch();
  ASSERT_TRUE(switched.ok());
  EXPECT_TRUE(switched->has_failed);
  EXPECT_EQ(switched->lines[1],
            "GPU 1 GPU-b: accounting is refused (NVML 4: No Permission): it needs root. Run this "
            "as root, in a container with runAsUser: 0");
}

TEST_F(AccountingSwitchTest, ChecksThatTheDriverReallySwitchedAccountingOn) {
  nvml_.gpus[0].accounting.obeys = false;
  nvml_.gpus[1].state = abi::NVML_ERROR_GPU_IS_LOST;
  const StatusOr<AccountingSwitched> switched = Switch();
  ASSERT_TRUE(switched.ok());
  EXPECT_TRUE(switched->has_failed);
  EXPECT_NE(switched->lines[0].find("stays off"), std::string::npos);
  EXPECT_NE(switched->lines[1].find("(NVML 15)"), std::string::npos) << switched->lines[1];
}

TEST_F(AccountingSwitchTest, ReportsWhyGpusCannotBeListed) {
  nvml_.SetDown(true);
  EXPECT_NE(Switch().status().message().find("nvmlInit_v2 fails (NVML 9)"), std::string::npos);
}

TEST_F(AccountingSwitchTest, GivesUpWhenACallHangs) {
  FakeFault hang;
  hang.block = FakeFault::Block::kUntilFreed;
  nvml_.Inject("nvmlDeviceSetAccountingMode", hang, 1);
  Status status;
  {
    const std::jthread doctor([&] { status = Switch().status(); });
    nvml_.AwaitHanging();
    clock_.AwaitSleepers(1);
    clock_.Advance(seconds(60));
  }
  EXPECT_NE(status.message().find("for 60 s from a call about GPU 1"), std::string::npos) << status;
  nvml_.Heal("nvmlDeviceSetAccountingMode");
  while (*tally_ != 0) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace podgpu
