// Calls into foreign code that may never return, each on a thread of its own.
//
// The caller waits until the call returns, or until another thread gives it up.  A call that was
// given up is *written off*: its thread stays inside the foreign code for as long as that takes,
// alone, and what it returns at last goes to `late` on that thread, so that a handle can be given
// back.  A tally counts the written-off threads of the whole process: while it is not 0, the
// process must end by std::_Exit.  Run belongs to one thread, GiveUp to any; what `call` and
// `late` use must live as long as the process, or be owned by them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace podgpu {

// Written-off threads of a process; shared by all who may write one off.
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

  // What `call` returned; nothing when it was given up, or when so many threads are out already
  // that it was not tried.  Costs a thread.
  template <typename T, typename Call, typename Late>
  std::optional<T> Run(Call call, Late late) {
    const auto result = std::make_shared<std::optional<T>>();
    const bool in_time = RunBody([result, call = std::move(call)] { *result = call(); },
                                 [result, late = std::move(late)] { late(**result); });
    return in_time ? std::move(*result) : std::nullopt;
  }

  // Writes off the call that runs now; false when none does.
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
