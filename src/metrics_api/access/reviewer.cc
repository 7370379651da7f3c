#include "metrics_api/access/reviewer.h"

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "kube/api_object.h"
#include "kube/api_refusal.h"

namespace podgpu {
namespace {

constexpr size_t kMaxReviewBytes = size_t{1} << 20;
constexpr std::chrono::hours kUntilNudged{24};

bool IsSuccess(int status) { return status == 200 || status == 201; }

std::string ReviewRemedy(int status) {
  return status == 403   ? ". Bind the ClusterRole system:auth-delegator to its service account"
         : status == 401 ? ". The token is not accepted; it is read again for the next request"
                         : "";
}

}  // namespace

Reviewer::Reviewer(ApiServerOptions server, ReviewCacheOptions options, const Files& files,
                   Clock& clock)
    : server_(std::move(server)), files_(files), clock_(clock), cache_(options) {}

ReviewState Reviewer::Ask(const Review& review) {
  ReviewState state;
  {
    MutexLock lock(mutex_);
    state = cache_.Ask(review, clock_.Now());
  }
  if (state.kind == ReviewState::Kind::kWaiting) {
    wakeup_.Nudge();
  }
  return state;
}

ReviewerFacts Reviewer::facts() const {
  MutexLock lock(mutex_);
  ReviewerFacts facts = facts_;
  facts.verdicts = cache_.verdicts();
  facts.waiting = cache_.waiting();
  return facts;
}

void Reviewer::Run(const std::stop_token& stop) {
  do {
    AnswerAll(stop);
  } while (wakeup_.SleepUntil(clock_, clock_.Now() + kUntilNudged, stop));
  connection_.reset();  // It refers to `stop`.
}

void Reviewer::AnswerAll(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::optional<ReviewCache::Open> open;
    {
      MutexLock lock(mutex_);
      open = cache_.Next();
    }
    if (!open) {
      return;
    }
    const StatusOr<std::string> answer = Send(open->review, stop);
    ReviewResult result = answer.ok() ? open->review.kind == ReviewKind::kToken
                                            ? ReadTokenReview(*answer)
                                            : ReadAccessReview(*answer)
                                      : ReviewResult(answer.status());
    Note(open->review.kind, result);
    MutexLock lock(mutex_);
    cache_.Finish(open->key, std::move(result), clock_.Now());
  }
}

// The server may have closed a connection that was idle: then a new one is tried, once.
StatusOr<std::string> Reviewer::Send(const Review& review, const std::stop_token& stop) {
  const bool was_open = connection_ != nullptr;
  StatusOr<std::string> answer = SendOnce(review, stop);
  if (was_open && absl::IsUnavailable(answer.status())) {
    answer = SendOnce(review, stop);
  }
  return answer;
}

StatusOr<std::string> Reviewer::SendOnce(const Review& review, const std::stop_token& stop) {
  if (connection_ == nullptr) {
    PODGPU_ASSIGN_OR_RETURN(connection_, ApiConnection::Open(server_, files_, stop));
  }
  std::unique_ptr<ApiConnection> connection = std::move(connection_);
  const bool is_token = review.kind == ReviewKind::kToken;
  PODGPU_ASSIGN_OR_RETURN(
      const ApiHead head,
      connection->Send({.method = "POST",
                        .target = std::string(is_token ? kTokenReviewPath : kAccessReviewPath),
                        .body = review.body}));
  PODGPU_ASSIGN_OR_RETURN(std::string body,
                          connection->ReadAll(kMaxReviewBytes, server_.request_patience));
  if (IsSuccess(head.status)) {
    connection_ = std::move(connection);
    return body;
  }
  const ApiFailure failure = ParseApiFailure(body);
  return StatusOfAnswer(
      head.status,
      absl::StrFormat("the API server answers %d to a %s%s%s%s", head.status,
                      is_token ? "TokenReview" : "SubjectAccessReview",
                      failure.message.empty() ? "" : ": ",
                      failure.message.empty() ? std::string() : QuotedRefusal(failure.message),
                      ReviewRemedy(head.status)));
}

void Reviewer::Note(ReviewKind kind, const ReviewResult& result) {
  const auto index = static_cast<size_t>(kind);
  bool was_ok = false;
  {
    MutexLock lock(mutex_);
    was_ok = facts_.is_ok;
    facts_.is_ok = result.ok();
    facts_.detail = std::string(result.status().message());
    ++(!result.ok() ? facts_.failed : result->is_granted ? facts_.granted : facts_.denied)[index];
  }
  if (was_ok && !result.ok()) {
    Log(LogLevel::kError, "the metrics API cannot check its callers",
        {{"why", std::string(result.status().message())}});
  } else if (!was_ok && result.ok()) {
    Log(LogLevel::kInfo, "the metrics API can check its callers again");
  }
}

}  // namespace podgpu
