// When `podgpu top` asks again, and what it says while nothing answers.
//
// After a failure it tries after 1, 2 and 4 s, then each 5 s.  Pure; the caller brings the time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"

namespace podgpu {

class Link {
 public:
  explicit Link(Instant now) : heard_at_(now), next_at_(now) {}

  bool IsDue(Instant now) const { return !is_asking_ && now >= next_at_; }
  void Asked(Instant now) {
    is_asking_ = true;
    asked_at_ = now;
  }
  // An answer: the next request is one interval after the last one.
  void Answered(Instant now, std::chrono::milliseconds interval);
  // No answer that can be shown; `has_answered`: something answered, but not as top needs it.
  void Failed(Instant now, std::string failure, bool has_answered);
  // Asks at once, after a key that needs other data.
  void Hurry(Instant now) { next_at_ = std::min(next_at_, failures_ > 0 ? next_at_ : now); }

  bool is_asking() const { return is_asking_; }
  const std::string& failure() const { return failure_; }
  bool has_answered() const { return has_answered_; }
  Instant next_at() const { return next_at_; }
  Instant heard_at() const { return heard_at_; }
  Instant asked_at() const { return asked_at_; }

 private:
  Instant heard_at_;  // The last answer, or the start.
  Instant next_at_;
  Instant asked_at_;
  bool is_asking_ = false, has_answered_ = false;
  int failures_ = 0;
  std::string failure_;
};

}  // namespace podgpu
