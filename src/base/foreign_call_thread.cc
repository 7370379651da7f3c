#include "base/foreign_call_thread.h"

#include <mutex>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "base/mutex.h"
#include "base/wakeup.h"

namespace podgpu {

// The work of one thread; shared by the thread and the ForeignCallThread.
struct ForeignCallThread::Worker {
  enum class State : uint8_t { kIdle, kRunning, kWrittenOff, kEnding };
  Alarm changed;  // Rung when `state` changes.
  std::atomic<State> state = State::kIdle;
  std::shared_ptr<Task> task;  // Written by Run while idle; the woken thread moves it out.

  void MoveTo(State next) {
    state = next;
    changed.Ring();
  }
  // Ends the running task. Returns false, and changes nothing, when none runs.
  bool EndWith(State next) {
    State expected = State::kRunning;
    if (!state.compare_exchange_strong(expected, next)) {
      return false;
    }
    changed.Ring();
    return true;
  }
  // Returns the state after `current`.
  State AwaitChangeOf(State current) {
    std::unique_lock lock(changed.mutex);
    changed.rung.wait(lock, [&] { return state != current; });
    return state;
  }
};

struct ForeignCallThread::Shared {
  explicit Shared(ThreadTally process) : tally(std::move(process)) {}
  Mutex mutex;
  std::shared_ptr<Worker> busy PODGPU_GUARDED_BY(mutex);  // The thread whose task Run waits for.
  std::atomic<int> out = 0;
  const ThreadTally tally;
};

ForeignCallThread::ForeignCallThread(const char* name, int limit, ThreadTally tally)
    : name_(name), limit_(limit), shared_(std::make_shared<Shared>(std::move(tally))) {}

ForeignCallThread::~ForeignCallThread() {
  if (worker_ != nullptr) {
    worker_->MoveTo(Worker::State::kEnding);
    thread_.join();
  }
}

int ForeignCallThread::out() const { return shared_->out.load(); }

void ForeignCallThread::Work(const std::shared_ptr<Worker>& worker,
                             const std::shared_ptr<Shared>& shared) {
  for (;;) {
    const Worker::State state = worker->AwaitChangeOf(Worker::State::kIdle);
    if (state == Worker::State::kEnding) {
      return;
    }
    const std::shared_ptr<Task> task = std::move(worker->task);
    if (state == Worker::State::kRunning) {
      task->Run();
    }
    if (!worker->EndWith(Worker::State::kIdle)) {
      task->Late();
      { MutexLock lock(shared->mutex); }  // GiveUp counts under this lock: up before down.
      --shared->out;
      --*shared->tally;
      return;
    }
  }
}

bool ForeignCallThread::EnsureThread() {
  if (worker_ != nullptr) {
    return true;
  }
  if (out() >= limit_) {
    return false;
  }
  auto worker = std::make_shared<Worker>();
  try {
    thread_ = std::thread([worker, shared = shared_] { Work(worker, shared); });
  } catch (const std::system_error&) {
    return false;  // The process may start no more threads: treated like a call that hangs.
  }
  pthread_setname_np(thread_.native_handle(), name_);
  worker_ = std::move(worker);
  return true;
}

bool ForeignCallThread::Run(const std::shared_ptr<Task>& task) {
  if (!EnsureThread()) {
    return false;
  }
  {
    MutexLock lock(shared_->mutex);
    shared_->busy = worker_;
  }
  worker_->task = task;
  worker_->MoveTo(Worker::State::kRunning);
  const bool is_done = worker_->AwaitChangeOf(Worker::State::kRunning) == Worker::State::kIdle;
  {
    MutexLock lock(shared_->mutex);
    shared_->busy = nullptr;
  }
  if (!is_done) {
    thread_.detach();
    worker_ = nullptr;
  }
  return is_done;
}

bool ForeignCallThread::GiveUp() noexcept {
  MutexLock lock(shared_->mutex);
  if (shared_->busy == nullptr) {
    return false;
  }
  if (!shared_->busy->EndWith(Worker::State::kWrittenOff)) {
    return false;
  }
  ++shared_->out;
  ++*shared_->tally;
  return true;
}

}  // namespace podgpu
