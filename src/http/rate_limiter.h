// A token bucket that limits requests.
//
// Full at the start; each request takes one token, and one token comes back per interval. An
// interval of 0 allows everything. The caller passes the time, so it needs no clock. One thread.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "http/web_config.h"

namespace podgpu {

class RateLimiter {
 public:
  explicit RateLimiter(RateLimit limit)
      : limit_(limit), tokens_(static_cast<double>(limit.burst)) {}

  const RateLimit& limit() const { return limit_; }

  // Returns whether a request is allowed at `now`, which must not go back.
  bool Allow(Instant now) {
    if (limit_.interval <= Duration(0)) {
      return true;
    }
    if (last_ != Instant()) {
      const double gained = std::chrono::duration<double>(now - last_) /
                            std::chrono::duration<double>(limit_.interval);
      tokens_ = std::min(tokens_ + gained, static_cast<double>(limit_.burst));
    }
    last_ = now;
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  RateLimit limit_;
  double tokens_;
  Instant last_{};
};

}  // namespace podgpu
