// A thread that is kept for calls into foreign code, until one of them does not return.
//
// As foreign_calls.h, for calls that are made again and again: a task is handed to the same thread
// each time, which costs two wake-ups and no memory.  A task that is given up is *written off*
// together with the thread, which stays inside the foreign code for as long as that takes and then
// ends by the task's own Late; the next task has a new thread.  Run and the destructor belong to
// one thread, GiveUp to any.
#pragma once

#include <memory>
#include <thread>

#include "base/foreign_calls.h"

namespace podgpu {

class ForeignCallThread {
 public:
  // What is to be called; shared with the lane's thread, so it must own all that it touches.
  class Task {
   public:
    Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    virtual ~Task() = default;
    // On the lane's thread.
    virtual void Run() = 0;
    // On the same thread, when Run has returned after the task was given up.
    virtual void Late() {}
  };

  // At most `limit` threads of this lane may be written off at a time.  `name` is what `top -H`
  // shows, 15 characters at most, and outlives the lane.
  ForeignCallThread(const char* name, int limit, ThreadTally tally);
  // Ends the thread, unless it was written off.  No task may be running.
  ~ForeignCallThread();
  ForeignCallThread(const ForeignCallThread&) = delete;
  ForeignCallThread& operator=(const ForeignCallThread&) = delete;

  // Has `task` run and waits.  False when it was given up, or when so many threads are out already,
  // or none is to be had, that it was not tried.
  bool Run(const std::shared_ptr<Task>& task);

  // Writes off the task that runs now; false when none does.
  bool GiveUp() noexcept;

  // Threads of this lane that are written off and have not returned.
  int out() const;

 private:
  struct Shared;  // Of all threads.
  struct Worker;  // Of one thread.
  static void Work(const std::shared_ptr<Worker>& worker, const std::shared_ptr<Shared>& shared);
  bool EnsureThread();

  const char* const name_;
  const int limit_;
  std::shared_ptr<Shared> shared_;  // Lives on in written-off threads.
  std::shared_ptr<Worker> worker_;  // Of the thread that is kept; null when there is none.
  std::thread thread_;
};

}  // namespace podgpu
