// Bounds how often one subject may speak in the log, however often it changes.
//
// A device that comes and goes each second for a night must not fill a disk, and its first changes
// say all that the others would.  The last line of an hour says that it is the last.  One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace podgpu {

class LineBudget {
 public:
  static constexpr int kMostLines = 10;
  static constexpr std::chrono::hours kWindow{1};

  // Whether a line may be written at `now`, which then counts.
  bool Take(Instant now) {
    if (!begun_ || now - *begun_ >= kWindow) {
      begun_ = now;
      lines_ = 0;
    }
    lines_ = std::min(lines_ + 1, kMostLines + 1);
    return lines_ <= kMostLines;
  }

  // What the line that was taken last must add; empty but for the last one of the hour.
  std::string_view note() const {
    return lines_ == kMostLines ? "this changes often: the next line on it comes in an hour" : "";
  }

 private:
  std::optional<Instant> begun_;
  int lines_ = 0;
};

}  // namespace podgpu
