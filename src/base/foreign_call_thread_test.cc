#include "base/foreign_call_thread.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Records the thread that it ran on.
struct QuickTask : ForeignCallThread::Task {
  void Run() override { thread = std::this_thread::get_id(); }
  std::thread::id thread;
};

// Blocks until the test releases it.
struct StuckTask : ForeignCallThread::Task {
  void Run() override {
    begun.set_value();
    release.get_future().wait();
  }
  void Late() override { late.set_value(); }
  std::promise<void> begun;
  std::promise<void> release;
  std::promise<void> late;
};

void WriteOffOn(ForeignCallThread& calls, const std::shared_ptr<StuckTask>& stuck) {
  std::jthread watchdog([&] {
    stuck->begun.get_future().wait();
    EXPECT_TRUE(calls.GiveUp());
  });
  EXPECT_FALSE(calls.Run(stuck));
}

// Waits until the written-off threads leave the tally, which is the last thing that they do.
void AwaitNone(const ThreadTally& tally) {
  while (*tally != 0) {
    std::this_thread::yield();
  }
}

TEST(ForeignCallThread, KeepsItsThread) {
  ForeignCallThread calls("test", 1, NewThreadTally());
  const auto first = std::make_shared<QuickTask>();
  const auto second = std::make_shared<QuickTask>();
  EXPECT_TRUE(calls.Run(first));
  EXPECT_TRUE(calls.Run(second));
  EXPECT_EQ(first->thread, second->thread);
  EXPECT_NE(first->thread, std::this_thread::get_id());
  EXPECT_EQ(first.use_count(), 1) << "the finished task is released";
}

TEST(ForeignCallThread, GiveUpWithoutACallHasNoEffect) {
  ForeignCallThread calls("test", 1, NewThreadTally());
  EXPECT_FALSE(calls.GiveUp());
  EXPECT_TRUE(calls.Run(std::make_shared<QuickTask>()));
  EXPECT_FALSE(calls.GiveUp()) << "it has returned";
  EXPECT_TRUE(calls.Run(std::make_shared<QuickTask>())) << "GiveUp has no effect on a later task";
}

TEST(ForeignCallThread, ReplacesAWrittenOffThread) {
  const ThreadTally tally = NewThreadTally();
  ForeignCallThread calls("test", 1, tally);
  const auto before = std::make_shared<QuickTask>();
  EXPECT_TRUE(calls.Run(before));
  const auto stuck = std::make_shared<StuckTask>();
  WriteOffOn(calls, stuck);
  EXPECT_EQ(calls.out(), 1);
  EXPECT_EQ(*tally, 1);
  EXPECT_FALSE(calls.Run(std::make_shared<QuickTask>())) << "no more than the limit at a time";
  stuck->release.set_value();
  stuck->late.get_future().wait();
  AwaitNone(tally);
  const auto after = std::make_shared<QuickTask>();
  EXPECT_TRUE(calls.Run(after));
  EXPECT_NE(after->thread, std::thread::id());
}

TEST(ForeignCallThread, CanBeDestroyedWhileAThreadIsWrittenOff) {
  const ThreadTally tally = NewThreadTally();
  const auto stuck = std::make_shared<StuckTask>();
  {
    ForeignCallThread calls("test", 2, tally);
    WriteOffOn(calls, stuck);
    EXPECT_TRUE(calls.Run(std::make_shared<QuickTask>()));
  }
  EXPECT_EQ(*tally, 1);
  stuck->release.set_value();
  AwaitNone(tally);
}

}  // namespace
}  // namespace podgpu
