// One call into foreign code that is abandoned after a time, for programs that ask once and end.
//
// The call runs on a thread of its own.  After `patience` the thread is abandoned and counted in
// `written_off`; the process must then end with std::_Exit.  The call owns all that it uses, or
// uses what lives as long as the process.  Called by main alone.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/worker.h"

namespace podgpu {

// Returns the result of `call`, or nothing if it has not returned within `patience`.
template <typename T, typename Call>
std::optional<T> CallWithin(Call call, std::chrono::milliseconds patience, Clock& clock,
                            const ThreadTally& written_off) {
  ForeignCalls calls(1, written_off);
  Worker timer;
  timer.Start([&, deadline = clock.Now() + patience](const std::stop_token& stop) {
    if (clock.WaitUntil(deadline, stop)) {
      calls.GiveUp();
    }
  });
  std::optional<T> result = calls.Run<T>(std::move(call), [](const T& /*late*/) {});
  timer.RequestStop();
  timer.JoinWithin(patience);
  return result;
}

}  // namespace podgpu
