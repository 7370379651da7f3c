// The question of a request for /api/v1/in-use, and its answer as JSON: the mean over the GPUs in
// use, for autoscalers such as KEDA's metrics-api scaler.
//
// docs/api.md describes the answer. Pure functions; called on the HTTP thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "metrics_api/values/metric_question.h"

namespace podgpu {

struct InUseQuery {
  InUseQuestion question;
  std::chrono::milliseconds window{60'000};
};

// Parses "namespace=serving&workload=llm&model=&measure=sm&window=1m"; an empty value counts as
// absent. `longest`: for how long samples are kept; also the default if that is below a minute.
// kInvalidArgument with one line, which names the parameter and what it may be.
StatusOr<InUseQuery> ParseInUseQuery(std::string_view text, std::chrono::milliseconds longest);

std::string WriteInUse(const InUseQuery& query, const InUseMean& mean, WallTime now);

}  // namespace podgpu
