// Publishes the fact of one refresher, logs each change of its state, and nudges the tick when the
// value, the state or the detail has changed.
//
// The refreshers (kubelet, API server, jobs) ask different servers and share this class.  `T` is a
// Fact (facts/fact.h).  Publish and current are called on the refresher's thread; facts() may be
// called from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "facts/part_state.h"

namespace podgpu {

// The log line of a change of state.
struct StateChangeLine {
  std::string message;
  std::string what = {};     // The attribute `what`; empty: the line has none.
  bool is_expected = false;  // A state other than ok is logged as info, not as a warning.
};

template <typename T>
class FactPublisher {
 public:
  // Publishes `first` without a log line.  `tick` outlives this object.
  FactPublisher(StateChangeLine line, T first, Wakeup& tick)
      : line_(std::move(line)), tick_(tick), current_(std::move(first)) {
    facts_.Set(std::make_shared<const T>(current_));
  }

  const T& current() const { return current_; }
  const Published<T>& facts() const { return facts_; }

  void Publish(T next) {
    const bool state_changed = !next.HasStateOf(current_);
    const bool is_news =
        state_changed || next.value != current_.value || next.detail != current_.detail;
    current_ = std::move(next);
    facts_.Set(std::make_shared<const T>(current_));
    if (state_changed) {
      LogChange();
    }
    if (is_news) {
      tick_.Nudge();
    }
  }

 private:
  void LogChange() const {
    const bool is_fine = current_.state == PartState::kOk || line_.is_expected;
    const LogLevel level = is_fine ? LogLevel::kInfo : LogLevel::kWarn;
    const std::string state(PartStateName(current_.state));
    if (line_.what.empty()) {
      Log(level, line_.message, {{"state", state}, {"detail", current_.detail}});
    } else {
      Log(level, line_.message,
          {{"what", line_.what}, {"state", state}, {"detail", current_.detail}});
    }
  }

  const StateChangeLine line_;
  Wakeup& tick_;
  T current_;
  Published<T> facts_;
};

}  // namespace podgpu
