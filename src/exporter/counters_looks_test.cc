#include "exporter/counters_looks.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/signal_queue.h"
#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CountersLooksTest : public ::testing::Test {
 protected:
  void Edit() const { folder_.Write("counters.csv", "x"); }
  CountersSourceOptions Options() const {
    CountersSourceOptions options;
    options.path = folder_ / "counters.csv";
    return options;
  }

  static seconds Pause(const CountersLooks& looks) { return looks.pause(); }
  static bool Listens(const CountersLooks& looks) { return looks.listens(); }
  static bool Take(CountersLooks& looks) { return looks.Take(); }

  const TemporaryFolder folder_;
};

TEST_F(CountersLooksTest, AwaitReturnsForANoticeAndForTheOtherDescriptor) {
  CountersLooks looks(Options(), "", seconds(30));
  Edit();
  EXPECT_FALSE(looks.Await(-1)) << "the edit may go on";
  SignalQueue signals({SIGUSR1});
  ::raise(SIGUSR1);
  looks.Await(signals.descriptor());
  EXPECT_EQ(signals.Take(), SIGUSR1);
  EXPECT_EQ(signals.Take(), 0);
}

TEST_F(CountersLooksTest, LooksTwiceAfterANoticeWithASecondBeforeEach) {
  CountersLooks looks(Options(), "", seconds(30));
  EXPECT_EQ(Pause(looks), seconds(60));
  EXPECT_TRUE(Listens(looks));
  Edit();
  EXPECT_FALSE(Take(looks)) << "the edit may go on";
  EXPECT_FALSE(Listens(looks));
  for (int look = 1; look <= 2; ++look) {
    EXPECT_EQ(Pause(looks), seconds(1)) << look;
    EXPECT_TRUE(Take(looks)) << look;
  }
  EXPECT_EQ(Pause(looks), seconds(60));
  EXPECT_TRUE(Listens(looks));
}

TEST_F(CountersLooksTest, AnEditBetweenTheLooksMakesTwoMoreDue) {
  CountersLooks looks(Options(), "", seconds(30));
  Edit();
  EXPECT_FALSE(Take(looks));
  Edit();
  EXPECT_TRUE(Take(looks)) << "a file that changes all the time is looked at all the same";
  EXPECT_TRUE(Take(looks));
  EXPECT_EQ(Pause(looks), seconds(1));
  EXPECT_TRUE(Take(looks));
  EXPECT_EQ(Pause(looks), seconds(60));
}

TEST_F(CountersLooksTest, LooksMoreOftenWhereNothingIsWatched) {
  CountersSourceOptions options = Options();
  options.path = folder_ / "later" / "counters.csv";
  CountersLooks looks(options, "", milliseconds(1'000));
  EXPECT_EQ(Pause(looks), seconds(10));
  std::filesystem::create_directory(folder_ / "later");
  EXPECT_TRUE(Take(looks));
  EXPECT_EQ(Pause(looks), seconds(60)) << "the folder has appeared";
}

TEST_F(CountersLooksTest, NoticesTheConfigurationToo) {
  const TemporaryFolder other;
  CountersLooks looks(Options(), other / "c.yaml", seconds(30));
  EXPECT_EQ(Pause(looks), seconds(60));
  other.Write("c.yaml", "x");
  EXPECT_FALSE(looks.Await(-1)) << "at once";
  EXPECT_EQ(Pause(looks), seconds(1));
  CountersLooks unwatched(Options(), "/no/such/folder/c.yaml", seconds(30));
  EXPECT_EQ(Pause(unwatched), seconds(10));
}

TEST_F(CountersLooksTest, LooksOncePerIntervalWithAConfigMap) {
  CountersSourceOptions options = Options();
  options.config_map.emplace();
  EXPECT_EQ(Pause(CountersLooks(options, "", milliseconds(2'500))), seconds(3));
  EXPECT_EQ(Pause(CountersLooks(options, "", milliseconds(100))), seconds(1));
  EXPECT_EQ(Pause(CountersLooks(options, "", seconds(60))), seconds(10));
}

}  // namespace
}  // namespace podgpu
