// A thread for calls into foreign code (vendor libraries) that may never return.
//
// Like foreign_calls.h, for calls that are made repeatedly: every task runs on the same thread,
// which costs two wake-ups and no memory.  A task that does not return in time is *written off*
// together with its thread.  That thread stays inside the foreign code; when the call returns, the
// thread calls the task's Late and ends.  The next task gets a new thread.  Run and the destructor
// are called on one thread, GiveUp on any.
#pragma once

#include <memory>
#include <thread>

#include "base/foreign_calls.h"

namespace podgpu {

class ForeignCallThread {
 public:
  // The calls to make.  Shared with the call thread, so a task must own all that it touches.
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    // Called on the call thread.
    virtual void Run() = 0;
    // Called on the same thread when Run returns after the task was written off, or in place of a
    // Run that had not begun by then.
    virtual void Late() {}
  };

  // At most `limit` threads of this object may be written off at a time.  `name` is the thread's
  // name as `top -H` shows it: 15 characters at most; it must outlive this object.
  ForeignCallThread(const char* name, int limit, ThreadTally tally);
  // Ends the thread, unless it was written off.  No task may be running.
  ~ForeignCallThread();
  ForeignCallThread(const ForeignCallThread&) = delete;
  ForeignCallThread& operator=(const ForeignCallThread&) = delete;

  // Runs `task` on the call thread and waits.  Returns false when the task was given up, and also
  // when it was not tried: `limit` threads are written off already, or no thread can be started.
  bool Run(const std::shared_ptr<Task>& task);

  // Writes off the task that runs now; returns false when none runs.
  bool GiveUp() noexcept;

  // The number of threads of this object that are written off and have not returned.
  int out() const;

 private:
  struct Shared;  // State of all threads of this object.
  struct Worker;  // State of one thread.
  static void Work(const std::shared_ptr<Worker>& worker, const std::shared_ptr<Shared>& shared);
  bool EnsureThread();

  const char* const name_;
  const int limit_;
  std::shared_ptr<Shared> shared_;  // Lives on in written-off threads.
  std::shared_ptr<Worker> worker_;  // State of the current thread; null when there is none.
  std::thread thread_;
};

}  // namespace podgpu
