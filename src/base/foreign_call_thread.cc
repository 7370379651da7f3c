#include "base/foreign_call_thread.h"

#include <condition_variable>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "base/mutex.h"

namespace podgpu {

// The orders of one thread; owned by the thread and by the ForeignCallThread.
struct ForeignCallThread::Hand {
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
  // Returns the next task, or null when the thread must end.
  std::shared_ptr<Task> Await() {
    MutexLock lock(mutex);
    while (state == State::kIdle) {
      changed.wait(mutex);
    }
    return state == State::kRunning ? task : nullptr;
  }
  // Returns whether the caller still waits for the task; if so, the thread is free for the next.
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

struct ForeignCallThread::Shared {
  explicit Shared(ThreadTally process) : tally(std::move(process)) {}
  Mutex mutex;
  std::shared_ptr<Hand> busy PODGPU_GUARDED_BY(mutex);  // Its caller waits.
  std::atomic<int> out = 0;
  const ThreadTally tally;
};

ForeignCallThread::ForeignCallThread(const char* name, int limit, ThreadTally tally)
    : name_(name), limit_(limit), shared_(std::make_shared<Shared>(std::move(tally))) {}

ForeignCallThread::~ForeignCallThread() {
  if (hand_ != nullptr) {
    hand_->MoveTo(Hand::State::kEnding);
    thread_.join();
  }
}

int ForeignCallThread::out() const { return shared_->out.load(); }

void ForeignCallThread::Work(const std::shared_ptr<Hand>& hand,
                             const std::shared_ptr<Shared>& shared) {
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

bool ForeignCallThread::HaveThread() {
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
    return false;  // The process has no thread left: the same as a call without an answer.
  }
  pthread_setname_np(thread_.native_handle(), name_);
  hand_ = std::move(hand);
  return true;
}

bool ForeignCallThread::Run(const std::shared_ptr<Task>& task) {
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

bool ForeignCallThread::GiveUp() noexcept {
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
