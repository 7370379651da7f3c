// Base class of NVML work on a thread that may be written off (base/foreign_call_thread.h).
//
// Any call may hang, usually for one device only.  So a task owns all that it touches, handles one
// device after the other, and records its position.  The caller that gives it up learns which
// device hangs, leaves that device out, and continues with the others.
#pragma once

#include <atomic>
#include <memory>

#include "base/foreign_call_thread.h"
#include "base/mutex.h"

namespace podgpu {

class NvmlTask : public ForeignCallThread::Task {
 public:
  static constexpr int kNowhere = -1;  // Past the last device.
  static constexpr int kLibrary = -2;  // Place of a call that is about no device.

  void Late() final { has_returned_ = true; }
  // Returns whether the hung call has returned.
  bool has_returned() const { return has_returned_; }

  // Marks the task as given up (after ForeignCallThread::GiveUp) and returns its position: an
  // index, kNowhere or kLibrary.
  int GiveUp() {
    MutexLock lock(mutex_);
    is_given_up_ = true;
    return place_;
  }

 protected:
  // Sets the position to a device.  Returns false when the task was given up meanwhile and must
  // end.
  bool GoTo(int place) {
    MutexLock lock(mutex_);
    place_ = place;
    return !is_given_up_;
  }

 private:
  Mutex mutex_;  // Shared by the caller and the thread that may hang.
  int place_ PODGPU_GUARDED_BY(mutex_) = kLibrary;
  bool is_given_up_ PODGPU_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_returned_ = false;
};

}  // namespace podgpu
