#include "base/foreign_call_thread.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Notes the thread that it ran on.
struct QuickTask : ForeignCallThread::Task {
  void Run() override { thread = std::this_thread::get_id(); }
  std::thread::id thread;
};

// Returns when the test allows it.
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

void WriteOffOn(ForeignCallThread& call_thread, const std::shared_ptr<StuckTask>& stuck) {
  std::jthread watchdog([&] {
    stuck->begun.get_future().wait();
    EXPECT_TRUE(call_thread.GiveUp());
  });
  EXPECT_FALSE(call_thread.Run(stuck));
}

// Waits until no written-off thread is counted: counting down is the last thing that they do.
void AwaitNone(const ThreadTally& tally) {
  while (*tally != 0) {
    std::this_thread::yield();
  }
}

TEST(ForeignCallThread, RunsEveryTaskOnTheSameThread) {
  ForeignCallThread call_thread("calls", 1, NewThreadTally());
  const auto first = std::make_shared<QuickTask>();
  const auto second = std::make_shared<QuickTask>();
  EXPECT_TRUE(call_thread.Run(first));
  EXPECT_TRUE(call_thread.Run(second));
  EXPECT_EQ(first->thread, second->thread);
  EXPECT_NE(first->thread, std::this_thread::get_id());
  EXPECT_EQ(first.use_count(), 1) << "the task that has run is released";
}

TEST(ForeignCallThread, GivingUpNothingDoesNothing) {
  ForeignCallThread call_thread("calls", 1, NewThreadTally());
  EXPECT_FALSE(call_thread.GiveUp());
  EXPECT_TRUE(call_thread.Run(std::make_shared<QuickTask>()));
  EXPECT_FALSE(call_thread.GiveUp()) << "it has returned";
  EXPECT_TRUE(call_thread.Run(std::make_shared<QuickTask>()))
      << "only the running task can be given up";
}

TEST(ForeignCallThread, WritesOffAHungThreadAndContinuesOnANewOne) {
  const ThreadTally tally = NewThreadTally();
  ForeignCallThread call_thread("calls", 1, tally);
  const auto before = std::make_shared<QuickTask>();
  EXPECT_TRUE(call_thread.Run(before));
  const auto stuck = std::make_shared<StuckTask>();
  WriteOffOn(call_thread, stuck);
  EXPECT_EQ(call_thread.out(), 1);
  EXPECT_EQ(*tally, 1);
  EXPECT_FALSE(call_thread.Run(std::make_shared<QuickTask>()))
      << "no more than the limit at a time";
  stuck->release.set_value();
  stuck->late.get_future().wait();
  AwaitNone(tally);
  const auto after = std::make_shared<QuickTask>();
  EXPECT_TRUE(call_thread.Run(after));
  EXPECT_NE(after->thread, std::thread::id());
}

TEST(ForeignCallThread, CountsDownATaskThatWasGivenUpBeforeItsThreadWoke) {
  const ThreadTally tally = NewThreadTally();
  ForeignCallThread call_thread("calls", 1, tally);
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> is_over = false;
    std::jthread hasty([&] {
      while (!is_over && !call_thread.GiveUp()) {
      }
    });
    call_thread.Run(std::make_shared<QuickTask>());
    is_over = true;
    hasty.join();
    AwaitNone(tally);
  }
  EXPECT_TRUE(call_thread.Run(std::make_shared<QuickTask>()));
}

TEST(ForeignCallThread, CanBeDestroyedWhileAThreadIsWrittenOff) {
  const ThreadTally tally = NewThreadTally();
  const auto stuck = std::make_shared<StuckTask>();
  {
    ForeignCallThread call_thread("calls", 2, tally);
    WriteOffOn(call_thread, stuck);
    EXPECT_TRUE(call_thread.Run(std::make_shared<QuickTask>()));
  }
  EXPECT_EQ(*tally, 1);
  stuck->release.set_value();
  AwaitNone(tally);
}

}  // namespace
}  // namespace podgpu
