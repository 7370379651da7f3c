#include "base/foreign_calls.h"

#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// A foreign function that blocks until the test releases it.
struct Stuck {
  std::promise<void> begun;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::promise<std::string> late;

  std::function<std::string()> Call() {
    return [this, released = released] {
      begun.set_value();
      released.wait();
      return std::string("a handle");
    };
  }
  std::function<void(std::string&)> Late() {
    return [this](std::string& result) { late.set_value(result); };
  }
};

std::optional<int> RunAtOnce(ForeignCalls& calls) {
  return calls.Run<int>([] { return 7; }, [](int&) {});
}

// Runs `stuck` on `calls` until another thread gives it up.
void WriteOff(ForeignCalls& calls, Stuck& stuck) {
  std::jthread watchdog([&] {
    stuck.begun.get_future().wait();
    EXPECT_TRUE(calls.GiveUp());
  });
  EXPECT_EQ(calls.Run<std::string>(stuck.Call(), stuck.Late()), std::nullopt);
}

// Waits until the written-off thread leaves the tally, which is the last thing that it does.
void AwaitReturn(const ThreadTally& tally) {
  while (*tally != 0) {
    std::this_thread::yield();
  }
}

TEST(ForeignCalls, ReturnsWhatTheCallReturns) {
  const ThreadTally tally = NewThreadTally();
  ForeignCalls calls(1, tally);
  EXPECT_EQ(RunAtOnce(calls), 7);
  EXPECT_EQ(calls.out(), 0);
  EXPECT_EQ(*tally, 0);
}

TEST(ForeignCalls, GiveUpWithoutACallHasNoEffect) {
  ForeignCalls calls(1, NewThreadTally());
  EXPECT_FALSE(calls.GiveUp());
  EXPECT_EQ(RunAtOnce(calls), 7) << "GiveUp has no effect on a later call";
}

TEST(ForeignCalls, WritesAThreadOffAndPassesItsLateResultOn) {
  const ThreadTally tally = NewThreadTally();
  ForeignCalls calls(2, tally);
  Stuck stuck;
  WriteOff(calls, stuck);
  EXPECT_EQ(calls.out(), 1);
  EXPECT_EQ(*tally, 1);
  EXPECT_EQ(RunAtOnce(calls), 7) << "other calls still run";
  stuck.release.set_value();
  EXPECT_EQ(stuck.late.get_future().get(), "a handle");
  AwaitReturn(tally);
  EXPECT_EQ(calls.out(), 0);
}

TEST(ForeignCalls, RefusesCallsAtTheLimitOfWrittenOffThreads) {
  const ThreadTally tally = NewThreadTally();
  ForeignCalls calls(1, tally);
  Stuck stuck;
  WriteOff(calls, stuck);
  EXPECT_TRUE(calls.is_exhausted());
  EXPECT_EQ(RunAtOnce(calls), std::nullopt);
  stuck.release.set_value();
  AwaitReturn(tally);
  EXPECT_EQ(RunAtOnce(calls), 7);
}

TEST(ForeignCalls, AWrittenOffThreadOutlivesItsForeignCalls) {
  const ThreadTally tally = NewThreadTally();
  Stuck stuck;
  {
    ForeignCalls calls(1, tally);
    WriteOff(calls, stuck);
  }
  EXPECT_EQ(*tally, 1);
  stuck.release.set_value();
  AwaitReturn(tally);
}

}  // namespace
}  // namespace podgpu
