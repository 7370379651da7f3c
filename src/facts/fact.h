// What one thread knows of one thing outside podgpu: the value, the state of the source of the
// value, and when the value was last known to be right.
//
// The thread publishes a new Fact when something has changed; a published one is immutable, and its
// value is shared.  After a failure the last good value stays, and `good_at` says since when it may
// be wrong: how long it counts is decided by those who use it.  Plain data; it knows no thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "facts/part_state.h"

namespace podgpu {

template <typename T>
struct Fact {
  std::shared_ptr<const T> value = nullptr;  // The last good one; null where there is none.
  PartState state = PartState::kStarting;
  std::string detail = {};  // A plain sentence: what is known, or why nothing is.
  Instant good_at{};        // When `value` was last known to be right.
  uint64_t failures = 0;    // Attempts without a good value since the start.

  // Whether a reader of the log needs no line about the step from `before` to this.
  bool HasStateOf(const Fact& before) const { return state == before.state; }
};

}  // namespace podgpu
