// A clock for tests that must know when a whole program is idle.
//
// Moves only by Advance, like ManualClock.  AwaitQuiet returns when every thread that uses this
// clock is in one of three states: it sleeps on the clock until a later time; it is blocked inside
// a fake, which reports this by NoteBlocked; or it waits for a blocked thread that was started for
// one call (base/foreign_calls.h).  The number of threads comes from the kernel, so threads that
// start and end are waited for too.  Thread safe; must outlive every thread that waits on it.
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
  // `written_off` counts threads of single calls whose callers no longer wait.  The first clock of
  // a process must be made before any other thread.
  explicit LockstepClock(ThreadTally written_off,
                         WallTime start = WallTime(std::chrono::seconds(1'700'000'000)));

  Instant Now() const override;
  WallTime WallNow() const override;

  void Advance(Duration step);
  // `thread` is blocked inside a fake, or no longer blocked.
  void NoteBlocked(std::thread::id thread, bool is_blocked);
  // A thread for which no other thread waits is blocked inside a fake, or no longer blocked.
  void NoteDetachedBlock(bool is_blocked);
  // Tells that the calling thread will sleep on this clock, though it has not yet.
  void NoteWorker();
  // Tells of one more thread that does not use this clock, such as a server's.
  void NoteOtherThread() { ++other_threads_; }
  // For a program with `idle` threads that never sleep on this clock but may block: it is quiet
  // when `workers` threads sleep, or when one of them waits for such a blocked thread.
  void ExpectWorkers(int workers, int idle);
  // Called on the test thread: waits until all workers sleep or are blocked.
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
  mutable Alarm changed_;  // Its mutex guards all members below.
  Instant now_{};
  WallTime wall_;
  std::list<Sleeper> sleepers_;
  std::set<std::thread::id>
      workers_;               // Threads that have slept on this clock or called NoteWorker.
  int expected_workers_ = 0;  // 0: use the number of threads.
  int idle_ = 0;
  int blocked_ = 0;
  int blocked_alone_ = 0;     // Those of blocked_ that were started for one call.
  int blocked_detached_ = 0;  // Blocked threads for which no other thread waits.
};

}  // namespace podgpu
