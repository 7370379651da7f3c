// What one thread knows of one thing outside podgpu: the value, the state of the source of the
// value, and when the value was last known to be right.
//
// The thread publishes a new Fact when something has changed; a published Fact is immutable, and
// its value is shared.  After a failure the last good value stays, and `good_at` says since when it
// may be wrong.  The user of the fact decides how old the value may be.  Plain data; it knows no
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "facts/part_state.h"

namespace podgpu {

template <typename T>
struct Fact {
  std::shared_ptr<const T> value = nullptr;  // The last good value; null before the first one.
  PartState state = PartState::kStarting;
  std::string detail = {};  // A plain sentence: what is known, or why nothing is known.
  Instant good_at{};        // Last time at which `value` was known to be right.
  uint64_t failures = 0;    // Attempts without a good value since the start.

  // Returns whether the state is that of `before`; only a change of state is logged.
  bool HasStateOf(const Fact& before) const { return state == before.state; }
};

}  // namespace podgpu
