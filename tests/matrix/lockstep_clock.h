// A clock for tests that must know when a whole program has nothing left to do.
//
// Moves only by Advance, as ManualClock does.  AwaitQuiet returns when every thread that works on
// this clock sleeps on it until a later time, or is held up inside a fake, which says so by
// NoteBlocked, or waits for one that is held up and was made for that one call
// (base/foreign_calls.h).  The number of threads is read from the kernel, so that those that come
// and go are waited for, too.  Thread safe; outlives every thread that waits on it.
#pragma once

#include <list>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/wakeup.h"

namespace podgpu {

class LockstepClock final : public Clock {
 public:
  // `written_off` counts threads of single calls for which nobody waits any more.  The first clock
  // of a process is made before any thread of its own.
  explicit LockstepClock(ThreadTally written_off,
                         WallTime start = WallTime(std::chrono::seconds(1'700'000'000)));

  Instant Now() const override;
  WallTime WallNow() const override;

  void Advance(Duration step);
  // `thread` is held up inside a fake, or is let go again.
  void NoteBlocked(std::thread::id thread, bool is_blocked);
  // A thread for which nobody waits is held up inside a fake, or is let go again.
  void NoteDetachedBlock(bool is_blocked);
  // The calling thread is one that will sleep on this clock, though it has not done so yet.
  void NoteWorker();
  // One more thread that does not work on this clock, such as a server's.
  void NoteOtherThread() { ++other_threads_; }
  // For a program that keeps `idle` threads which never sleep on this clock, but may be held up:
  // it is quiet when `workers` threads sleep, or one waits for such a thread that is held up.
  void ExpectWorkers(int workers, int idle);
  // Of one test thread: waits until all workers sleep or are held up.
  void AwaitQuiet();
  int blocked() const;

 private:
  struct Sleeper {
    Instant deadline;
    const std::stop_token* stop = nullptr;
    const Wakeup::Listener* wakeup = nullptr;
  };
  bool Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) override;
  bool IsQuiet() const;  // With the mutex of changed_ held.

  const ThreadTally written_off_;
  int other_threads_;
  mutable Alarm changed_;  // Its mutex guards all below.
  Instant now_{};
  WallTime wall_;
  std::list<Sleeper> sleepers_;
  std::set<std::thread::id> workers_;  // Threads that have slept on this clock, or said they will.
  int expected_workers_ = 0;           // 0: told by the number of threads.
  int idle_ = 0;
  int blocked_ = 0;
  int blocked_alone_ = 0;     // Of these, threads that were made for one call.
  int blocked_detached_ = 0;  // Held up, and none of those.
};

}  // namespace podgpu
