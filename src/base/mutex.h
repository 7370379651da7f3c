// A mutex that clang's thread-safety analysis understands.
//
// std::mutex with annotations. absl::Mutex lives in a prebuilt library that the thread sanitizer
// cannot see into, which makes it report false races (Debian 12, abseil 20220623). Threads of
// podgpu share immutable values through Published<T> (published.h); a mutex anywhere else needs a
// comment that says why.
#pragma once

#include <mutex>

#if defined(__clang__)
#define PODGPU_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define PODGPU_THREAD_ANNOTATION(x)
#endif

#define PODGPU_GUARDED_BY(x) PODGPU_THREAD_ANNOTATION(guarded_by(x))
#define PODGPU_REQUIRES(...) PODGPU_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define PODGPU_EXCLUDES(...) PODGPU_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace podgpu {

// Satisfies BasicLockable, so std::condition_variable_any can wait on it.
class PODGPU_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() PODGPU_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() PODGPU_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a Mutex for a scope.
class PODGPU_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PODGPU_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() PODGPU_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace podgpu
