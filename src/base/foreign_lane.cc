#include "base/foreign_lane.h"

#include <condition_variable>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "base/mutex.h"

namespace podgpu {

// What a thread is told to do; owned by it and by the lane.
struct ForeignLane::Hand {
  enum class State : uint8_t { kIdle, kRunning, kWrittenOff, kEnding };
  Mutex mutex;
  std::condition_variable_any changed;
  State state PODGPU_GUARDED_BY(mutex) = State::kIdle;
  std::shared_ptr<Task> task PODGPU_GUARDED_BY(mutex);

  void MoveTo(State next) {
    MutexLock lock(mutex);
    state = next;
    changed.notify_all();
  }
  // What is to be run; null when the thread shall end.
  std::shared_ptr<Task> Await() {
    MutexLock lock(mutex);
    while (state == State::kIdle) {
      changed.wait(mutex);
    }
    return state == State::kRunning ? task : nullptr;
  }
  // Whether the task's end is still waited for; then the thread is free for the next.
  bool Finish() {
    MutexLock lock(mutex);
    task = nullptr;
    if (state != State::kRunning) {
      return false;
    }
    state = State::kIdle;
    changed.notify_all();
    return true;
  }
};

struct ForeignLane::Shared {
  explicit Shared(ThreadTally process) : tally(std::move(process)) {}
  Mutex mutex;
  std::shared_ptr<Hand> busy PODGPU_GUARDED_BY(mutex);  // Whose task is waited for.
  std::atomic<int> out = 0;
  const ThreadTally tally;
};

ForeignLane::ForeignLane(const char* name, int limit, ThreadTally tally)
    : name_(name), limit_(limit), shared_(std::make_shared<Shared>(std::move(tally))) {}

ForeignLane::~ForeignLane() {
  if (hand_ != nullptr) {
    hand_->MoveTo(Hand::State::kEnding);
    thread_.join();
  }
}

int ForeignLane::out() const { return shared_->out.load(); }

void ForeignLane::Work(const std::shared_ptr<Hand>& hand, const std::shared_ptr<Shared>& shared) {
  while (const std::shared_ptr<Task> task = hand->Await()) {
    task->Run();
    if (!hand->Finish()) {
      task->Late();
      --shared->out;
      --*shared->tally;
      return;
    }
  }
}

bool ForeignLane::HaveThread() {
  if (hand_ != nullptr) {
    return true;
  }
  if (out() >= limit_) {
    return false;
  }
  auto hand = std::make_shared<Hand>();
  try {
    thread_ = std::thread([hand, shared = shared_] { Work(hand, shared); });
  } catch (const std::system_error&) {
    return false;  // No thread is left to this process: as if it had not answered.
  }
  pthread_setname_np(thread_.native_handle(), name_);
  hand_ = std::move(hand);
  return true;
}

bool ForeignLane::Run(const std::shared_ptr<Task>& task) {
  if (!HaveThread()) {
    return false;
  }
  {
    MutexLock lock(shared_->mutex);
    shared_->busy = hand_;
  }
  bool is_done = false;
  {
    MutexLock lock(hand_->mutex);
    hand_->task = task;
    hand_->state = Hand::State::kRunning;
    hand_->changed.notify_all();
    while (hand_->state == Hand::State::kRunning) {
      hand_->changed.wait(hand_->mutex);
    }
    is_done = hand_->state == Hand::State::kIdle;
  }
  {
    MutexLock lock(shared_->mutex);
    shared_->busy = nullptr;
  }
  if (!is_done) {
    thread_.detach();
    hand_ = nullptr;
  }
  return is_done;
}

bool ForeignLane::GiveUp() noexcept {
  MutexLock lock(shared_->mutex);
  if (shared_->busy == nullptr) {
    return false;
  }
  Hand& hand = *shared_->busy;
  MutexLock hand_lock(hand.mutex);
  if (hand.state != Hand::State::kRunning) {
    return false;
  }
  ++shared_->out;
  ++*shared_->tally;
  hand.state = Hand::State::kWrittenOff;
  hand.changed.notify_all();
  return true;
}

}  // namespace podgpu
