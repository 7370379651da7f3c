// Decides when a failure of queries to Prometheus is worth a line in the log: when it begins, when
// its reason becomes another one, and when the queries succeed again.
//
// A reason is a status or a kind of failure; numbers in its text do not count.  Another reason is
// told at most once a minute, so two servers behind one address that fail in turn do not fill the
// log.  One thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "cluster/prometheus_client.h"

namespace podgpu {

enum class FailureChange { kNone, kFails, kSucceedsAgain };

class FailureWatch {
 public:
  FailureChange Take(const PrometheusReply& reply, Instant now);

 private:
  std::string told_;  // The reason that was last told; empty while the queries succeed.
  Instant told_at_{};
};

}  // namespace podgpu
