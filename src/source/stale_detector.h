// When an engine that answers, and has nothing to tell, is to be begun anew.
//
// An embedded engine that was started before the driver lists no GPU, and one whose driver was
// reloaded under it answers with blanks: both for ever.  A remote engine that has forgotten a watch
// goes on telling its last sample (DCGM 4.6.0, observed).  None of these is an error of any call,
// so the time without a fresh number is what tells.  Each new beginning doubles the patience, up to
// a limit, since a node may really have nothing to tell.  Source thread only.
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

  // Something was subscribed.
  void Reset() {
    since_.reset();
    patience_ = first_;
  }

  // Nothing was subscribed at `now`: whether it has been so for as long as is to be borne.  Then
  // the count begins again, with more patience.
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
