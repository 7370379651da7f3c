// What is done with NVML on a thread that may be written off (base/foreign_call_thread.h).
//
// Any call may hang, mostly for one device.  So a task owns all that it touches, goes from device
// to device, and notes where it is: who gives it up learns which device hangs, leaves that out, and
// goes on with the others.
#pragma once

#include <atomic>
#include <memory>

#include "base/foreign_call_thread.h"
#include "base/mutex.h"

namespace podgpu {

class NvmlTask : public ForeignCallThread::Task {
 public:
  static constexpr int kNowhere = -1;  // Past the last device.
  static constexpr int kLibrary = -2;  // In a call that is about no device.

  void Late() final { has_returned_ = true; }
  // Whether it has returned from where it was given up.
  bool has_returned() const { return has_returned_; }

  // Gives the task up, which its lane has done already; returns where it is.
  int GiveUp() {
    MutexLock lock(mutex_);
    is_given_up_ = true;
    return place_;
  }

 protected:
  // Goes to a device; false when the task was given up meanwhile, and shall end.
  bool GoTo(int place) {
    MutexLock lock(mutex_);
    place_ = place;
    return !is_given_up_;
  }

 private:
  Mutex mutex_;  // Who gives up and the thread that hangs meet here.
  int place_ PODGPU_GUARDED_BY(mutex_) = kLibrary;
  bool is_given_up_ PODGPU_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_returned_ = false;
};

}  // namespace podgpu
