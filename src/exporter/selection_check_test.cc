#include "exporter/selection_check.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/testing/manual_clock.h"
#include "base/worker.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

DeviceSelections ListedAs(std::string_view gpus) {
  return {*ParseDeviceSelection(gpus), *ParseDeviceSelection("f"), *ParseDeviceSelection("f")};
}

class SelectionCheckTest : public ::testing::Test {
 protected:
  SelectionCheck Check(std::string_view gpus) {
    return CheckSelection(
        ListedAs(gpus),
        [this]() -> StatusOr<std::unique_ptr<Source>> {
          ++opened_;
          if (!library_present_) {
            return absl::NotFoundError("no driver yet");
          }
          return std::make_unique<FakeSource>(driver_);
        },
        milliseconds(5'000), clock_, written_off_);
  }

  ManualClock clock_;
  FakeDriver driver_;
  bool library_present_ = true;
  int opened_ = 0;
  const ThreadTally written_off_ = NewThreadTally();
};

TEST_F(SelectionCheckTest, CallsTheDriverOnlyWhereIdsAreListed) {
  EXPECT_TRUE(Check("g").warnings.empty());
  EXPECT_EQ(opened_, 0);
  EXPECT_TRUE(Check("g:0,1").warnings.empty());
  EXPECT_EQ(opened_, 1);
  EXPECT_EQ(driver_.let_gos, 1) << "nothing stays open";
}

TEST_F(SelectionCheckTest, NamesMissingAndPresentDevices) {
  const SelectionCheck check = Check("g:5");
  ASSERT_EQ(check.warnings.size(), 1U);
  EXPECT_NE(check.warnings[0].find("GPU ID '5'. The GPUs of this node: 0, 1"), std::string::npos);
  EXPECT_EQ(check.unknown, "");
}

TEST_F(SelectionCheckTest, SaysWhyTheDevicesAreUnknown) {
  library_present_ = false;
  EXPECT_EQ(Check("g:5").unknown, "no driver yet");
  library_present_ = true;
  driver_.FailDiscover(absl::UnavailableError("the engine is gone"));
  EXPECT_EQ(Check("g:5").unknown, "the engine is gone");
}

TEST_F(SelectionCheckTest, AbandonsADriverThatHangs) {
  driver_.BlockDiscover();
  Worker checking;
  SelectionCheck check;
  checking.Start([&](const std::stop_token&) { check = Check("g:5"); });
  driver_.AwaitBlockedDiscover();
  clock_.AwaitSleepers(1);
  clock_.Advance(seconds(5));
  ASSERT_TRUE(checking.JoinWithin(std::chrono::hours(1)));
  EXPECT_EQ(check.unknown, "the driver has not answered for 5 s");
  EXPECT_EQ(*written_off_, 1);
  driver_.Release();
  while (*written_off_ != 0) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace podgpu
