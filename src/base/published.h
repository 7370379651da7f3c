// The latest value of an object that one thread makes and many threads read.
//
// podgpu's threads share data only this way: the writer makes a new immutable value and sets it;
// readers take a reference-counted pointer to the newest value and keep it as long as they like.
// The lock is held only while a pointer is copied. (std::atomic<std::shared_ptr> of GCC 12 unlocks
// with relaxed order, which the thread sanitizer reports and which may fail on weakly ordered
// processors; hence the mutex.)
#pragma once

#include <memory>

#include "base/mutex.h"

namespace podgpu {

template <typename T>
class Published {
 public:
  // Makes `next` the value that Get returns from now on.  The old value is released after the lock.
  void Set(std::shared_ptr<const T> next) {
    MutexLock lock(mutex_);
    current_.swap(next);
  }

  // The newest value, or null before the first Set.
  std::shared_ptr<const T> Get() const {
    MutexLock lock(mutex_);
    return current_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
