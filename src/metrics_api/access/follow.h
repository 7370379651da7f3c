// Follows a collection of the API server until a stop, with waits after failures, and reports the
// state of the watch.
//
// For the three watches of the metrics API: the ConfigMap about callers, and the labels of pods and
// of nodes. Logs each change of state once. Called on the thread of the watch.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/published.h"
#include "kube/api_mirror.h"

namespace podgpu {

// The state of a watch. Immutable once published.
struct WatchFacts {
  bool has_data = false;  // It has been read at least once.
  bool is_ok = false;     // It is being followed; what was read is current.
  std::string detail = "not read yet";
};

// `what` is for the log: "the labels of pods". `remedy` is added to a refusal for lack of rights.
struct FollowedCollection {
  std::string_view what;
  std::string_view remedy;
};

// The objects that a watch works on; mirror and facts outlive the call.
struct FollowParts {
  ApiMirror& mirror;
  Published<WatchFacts>& facts;  // Has a value before the call.
  // Takes the new objects; its status is a mistake in them.
  std::function<Status()> changed;
};

// `seed`: for the random part of waits.
void FollowUntilStop(const FollowedCollection& collection, const FollowParts& parts, uint32_t seed,
                     Clock& clock, const std::stop_token& stop);

}  // namespace podgpu
