#include "cluster/failure_watch.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr std::chrono::minutes kQuiet{1};

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }

std::string ReasonOf(const PrometheusReply& reply) {
  const std::string_view result = FetchResultName(reply.result);
  if (reply.status != 0 || reply.result == FetchResult::kTimeout) {
    return absl::StrFormat("%s %d", result, reply.status);
  }
  std::string detail = reply.detail;
  std::erase_if(detail, IsDigit);
  return absl::StrFormat("%s %s", result, detail);
}

}  // namespace

FailureChange FailureWatch::Take(const PrometheusReply& reply, Instant now) {
  if (IsGood(reply.result)) {
    const bool failed = !told_.empty();
    told_.clear();
    return failed ? FailureChange::kSucceedsAgain : FailureChange::kNone;
  }
  std::string reason = ReasonOf(reply);
  if (reason == told_ || (!told_.empty() && now - told_at_ < kQuiet)) {
    return FailureChange::kNone;
  }
  told_ = std::move(reason);
  told_at_ = now;
  return FailureChange::kFails;
}

}  // namespace podgpu
