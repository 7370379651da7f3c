#include "base/foreign_call_thread.h"

#include <condition_variable>
#include <pthread.h>
#include <system_error>
#include <utility>

#include "base/mutex.h"

namespace podgpu {

// The work of one thread; shared by the thread and the ForeignCallThread.
struct ForeignCallThread::Worker {
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
  // Returns the next task; null when the thread must end.
  std::shared_ptr<Task> Await() {
    MutexLock lock(mutex);
    while (state == State::kIdle) {
      changed.wait(mutex);
    }
    return state == State::kRunning ? task : nullptr;
  }
  // Returns whether the caller still waits for the task; then the thread is free for the next one.
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
  while (const std::shared_ptr<Task> task = worker->Await()) {
    task->Run();
    if (!worker->Finish()) {
      task->Late();
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
  bool is_done = false;
  {
    MutexLock lock(worker_->mutex);
    worker_->task = task;
    worker_->state = Worker::State::kRunning;
    worker_->changed.notify_all();
    while (worker_->state == Worker::State::kRunning) {
      worker_->changed.wait(worker_->mutex);
    }
    is_done = worker_->state == Worker::State::kIdle;
  }
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
  Worker& worker = *shared_->busy;
  MutexLock worker_lock(worker.mutex);
  if (worker.state != Worker::State::kRunning) {
    return false;
  }
  ++shared_->out;
  ++*shared_->tally;
  worker.state = Worker::State::kWrittenOff;
  worker.changed.notify_all();
  return true;
}

}  // namespace podgpu
