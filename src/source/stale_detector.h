// Decides when to restart an engine or library that answers but gives no fresh sample.
//
// An embedded engine that was started before the driver lists no GPU, and one whose driver was
// reloaded answers only with blanks; neither ever recovers.  A remote engine that has lost a watch
// repeats its last sample (DCGM 4.6.0, observed).  No call fails in any of these cases, so the only
// sign is the time without a fresh sample.  After each restart the wait doubles, up to a limit,
// because a node may really have nothing to report.  Used on the source thread only.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/clock.h"

namespace podgpu {

class StaleDetector {
 public:
  StaleDetector(std::chrono::milliseconds patience, std::chrono::milliseconds longest)
      : first_(patience), longest_(longest), patience_(patience) {}

  // A fresh sample has arrived: begins again with the first wait.
  void Reset() {
    since_.reset();
    patience_ = first_;
  }

  // There was no fresh sample at `now`. Returns true when this has lasted for the current wait;
  // then it begins again with a longer wait.
  bool IsRestartDue(Instant now) {
    if (!since_) {
      since_ = now;
    }
    if (now - *since_ < patience_) {
      return false;
    }
    since_.reset();
    patience_ = std::min(patience_ * 2, longest_);
    return true;
  }

 private:
  const std::chrono::milliseconds first_;
  const std::chrono::milliseconds longest_;
  std::chrono::milliseconds patience_;
  std::optional<Instant> since_;
};

}  // namespace podgpu
