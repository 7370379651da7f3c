// Calls into foreign code that may never return. Each call runs on a thread of its own.
//
// The caller waits until the call returns or until another thread calls GiveUp. A call that was
// given up is *written off*: its thread stays inside the foreign code until that returns, then
// passes the result to `late`, which can release a handle. A tally counts the written-off threads
// of the whole process; while it is above 0, the process must end by std::_Exit. Run belongs to one
// thread; any thread may call GiveUp. Objects that `call` and `late` use must live as long as the
// process, or `call` and `late` must own them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace podgpu {

// Number of written-off threads of the process. All objects that write threads off share it.
using ThreadTally = std::shared_ptr<std::atomic<int>>;
inline ThreadTally NewThreadTally() { return std::make_shared<std::atomic<int>>(0); }

class ForeignCalls {
 public:
  // At most `limit` threads of this object may be written off at a time.
  ForeignCalls(int limit, ThreadTally tally);
  ForeignCalls(ForeignCalls&&) noexcept;
  ForeignCalls(const ForeignCalls&) = delete;
  ForeignCalls& operator=(const ForeignCalls&) = delete;
  ForeignCalls& operator=(ForeignCalls&&) = delete;
  ~ForeignCalls();

  // Returns the result of `call`. Returns nothing when the call was given up, or when `limit`
  // threads are written off already and `call` was not tried. Starts a thread.
  template <typename T, typename Call, typename Late>
  std::optional<T> Run(Call call, Late late) {
    const auto result = std::make_shared<std::optional<T>>();
    const bool in_time = RunBody([result, call = std::move(call)] { *result = call(); },
                                 [result, late = std::move(late)] { late(**result); });
    return in_time ? std::move(*result) : std::nullopt;
  }

  // Writes off the call that is running; returns false when none is.
  bool GiveUp() noexcept;

  // Threads of this object that are written off and have not returned.
  int out() const;
  bool is_exhausted() const { return out() >= limit_; }

 private:
  struct Flight;
  struct Shared;
  bool RunBody(std::function<void()> call, std::function<void()> late);

  const int limit_;
  std::shared_ptr<Shared> shared_;  // Lives on in written-off threads.
};

}  // namespace podgpu
