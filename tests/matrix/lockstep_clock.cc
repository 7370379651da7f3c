#include "tests/matrix/lockstep_clock.h"

#include <algorithm>
#include <future>
#include <sys/stat.h>

#include "base/status.h"

namespace podgpu {
namespace {

// How often the number of threads is checked for threads that have ended.
constexpr std::chrono::milliseconds kLookAgain{1};

// The kernel shows the number of threads as the link count of this directory, so no listing is
// needed.
int Threads() {
  struct stat status {};
  PODGPU_CHECK(::stat("/proc/self/task", &status) == 0);
  return static_cast<int>(status.st_nlink) - 2;
}

// Threads outside the program: the test's own, and a sanitizer's, which starts with the first
// thread.  Counted once, while there are no others.
int RuntimeThreads() {
  static const int count = [] {
    std::promise<void> end;
    std::thread other([ended = end.get_future()] { ended.wait(); });
    const int threads = Threads() - 1;
    end.set_value();
    other.join();
    return threads;
  }();
  return count;
}

}  // namespace

LockstepClock::LockstepClock(ThreadTally written_off, WallTime start)
    : written_off_(std::move(written_off)), other_threads_(RuntimeThreads()), wall_(start) {}

Instant LockstepClock::Now() const {
  const std::scoped_lock lock(changed_.mutex);
  return now_;
}

WallTime LockstepClock::WallNow() const {
  const std::scoped_lock lock(changed_.mutex);
  return wall_;
}

bool LockstepClock::Wait(Instant deadline, const std::stop_token& stop, Wakeup* wakeup) {
  const std::stop_callback on_stop(stop, [this] { changed_.Ring(); });
  const Wakeup::Listener on_nudge(wakeup, changed_);
  std::unique_lock lock(changed_.mutex);
  workers_.insert(std::this_thread::get_id());
  const auto self = sleepers_.insert(sleepers_.end(), {deadline, &stop, &on_nudge});
  changed_.rung.notify_all();
  changed_.rung.wait(
      lock, [&] { return now_ >= deadline || stop.stop_requested() || on_nudge.is_nudged(); });
  sleepers_.erase(self);
  return !stop.stop_requested();
}

void LockstepClock::Advance(Duration step) {
  const std::scoped_lock lock(changed_.mutex);
  now_ += step;
  wall_ += std::chrono::duration_cast<std::chrono::microseconds>(step);
  changed_.rung.notify_all();
}

void LockstepClock::NoteWorker() {
  const std::scoped_lock lock(changed_.mutex);
  workers_.insert(std::this_thread::get_id());
}

void LockstepClock::NoteBlocked(std::thread::id thread, bool is_blocked) {
  const std::scoped_lock lock(changed_.mutex);
  const int change = is_blocked ? 1 : -1;
  blocked_ += change;
  blocked_alone_ += workers_.contains(thread) ? 0 : change;
  changed_.rung.notify_all();
}

void LockstepClock::NoteDetachedBlock(bool is_blocked) {
  const std::scoped_lock lock(changed_.mutex);
  blocked_detached_ += is_blocked ? 1 : -1;
  changed_.rung.notify_all();
}

void LockstepClock::ExpectWorkers(int workers, int idle) {
  const std::scoped_lock lock(changed_.mutex);
  expected_workers_ = workers;
  idle_ = idle;
}

int LockstepClock::blocked() const {
  const std::scoped_lock lock(changed_.mutex);
  return blocked_;
}

bool LockstepClock::IsQuiet() const {
  const auto asleep = std::ranges::count_if(sleepers_, [&](const Sleeper& sleeper) {
    return sleeper.deadline > now_ && !sleeper.stop->stop_requested() &&
           !sleeper.wakeup->is_nudged();
  });
  const int waiting = blocked_alone_ - *written_off_;
  if (expected_workers_ > 0) {
    // Fewer blocked than written off: one is about to return.
    return asleep == std::ssize(sleepers_) && waiting + blocked_detached_ >= 0 &&
           asleep + std::max(waiting, 0) >= expected_workers_ &&
           Threads() - blocked_ - blocked_detached_ <= expected_workers_ + other_threads_ + idle_;
  }
  return asleep == std::ssize(sleepers_) &&
         asleep + blocked_ + waiting >= Threads() - other_threads_;
}

void LockstepClock::AwaitQuiet() {
  std::unique_lock lock(changed_.mutex);
  while (!changed_.rung.wait_for(lock, kLookAgain, [&] { return IsQuiet(); })) {
  }
}

}  // namespace podgpu
