// One thread for repeated calls into foreign code. It is replaced when a call does not return.
//
// Like foreign_calls.h, for calls that repeat: every task runs on the same thread, which costs two
// wake-ups and no memory. When a task is given up, its thread is *written off* with it: the thread
// stays inside the foreign code until that returns, calls the task's Late, and ends. The next task
// gets a new thread. Run and the destructor belong to one thread; any thread may call GiveUp.
#pragma once

#include <memory>
#include <thread>

#include "base/foreign_calls.h"

namespace podgpu {

class ForeignCallThread {
 public:
  // One call. The call thread shares it, so it must own every object that it touches.
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    // Called on the call thread.
    virtual void Run() = 0;
    // Called on the same thread after Run, when the task was given up in the meantime.
    virtual void Late() {}
  };

  // At most `limit` threads of this object may be written off at a time. `name` is the name in `top
  // -H`, at most 15 characters; it outlives this object.
  ForeignCallThread(const char* name, int limit, ThreadTally tally);
  // Ends the thread, unless it was written off.  No task may be running.
  ~ForeignCallThread();
  ForeignCallThread(const ForeignCallThread&) = delete;
  ForeignCallThread& operator=(const ForeignCallThread&) = delete;

  // Runs `task` and waits for it. Returns false when the task was given up, or was not tried
  // because `limit` threads are written off already or the process has no thread left.
  bool Run(const std::shared_ptr<Task>& task);

  // Writes off the task that is running; returns false when none is.
  bool GiveUp() noexcept;

  // Threads of this object that are written off and have not returned.
  int out() const;

 private:
  struct Shared;  // Shared by all threads of this object.
  struct Hand;    // The orders of one thread.
  static void Work(const std::shared_ptr<Hand>& hand, const std::shared_ptr<Shared>& shared);
  bool HaveThread();

  const char* const name_;
  const int limit_;
  std::shared_ptr<Shared> shared_;  // Lives on in written-off threads.
  std::shared_ptr<Hand> hand_;      // Of the current thread; null when there is none.
  std::thread thread_;
};

}  // namespace podgpu
