// Limits how many log lines an hour one subject may write, for example one GPU.
//
// A device that is lost and found each second must not fill a disk overnight, and the first lines
// already tell the problem.  The last line that is allowed in an hour says that it is the last.
// Used on one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace podgpu {

class LineBudget {
 public:
  static constexpr int kMostLines = 10;
  static constexpr std::chrono::hours kWindow{1};

  // Returns whether a line may be written at `now`, and counts it.
  bool Take(Instant now) {
    if (!begun_ || now - *begun_ >= kWindow) {
      begun_ = now;
      lines_ = 0;
    }
    lines_ = std::min(lines_ + 1, kMostLines + 1);
    return lines_ <= kMostLines;
  }

  // Returns `text` for the line that was just allowed, with a note if it is the last of the hour.
  std::string WithNote(std::string_view text) const {
    return std::string(text) + (lines_ == kMostLines
                                    ? "; this changes often: the next line on it comes in an hour"
                                    : "");
  }

 private:
  std::optional<Instant> begun_;
  int lines_ = 0;
};

}  // namespace podgpu
