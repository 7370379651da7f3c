#include "cluster/failure_watch.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using std::chrono::seconds;

PrometheusReply Failure(FetchResult result, std::string detail, int status = 0) {
  PrometheusReply reply;
  reply.result = result;
  reply.detail = std::move(detail);
  reply.status = status;
  return reply;
}

PrometheusReply Refused(int status, const std::string& complaint) {
  return Failure(FetchResult::kRefused, complaint, status);
}

PrometheusReply Success() { return Failure(FetchResult::kOk, ""); }

TEST(FailureWatch, TellsAFailureOnceAndItsEnd) {
  FailureWatch watch;
  const Instant now{seconds(1'000)};
  EXPECT_EQ(watch.Take(Success(), now), FailureChange::kNone);
  EXPECT_EQ(watch.Take(Refused(503, "a"), now), FailureChange::kFails);
  EXPECT_EQ(watch.Take(Refused(503, "a"), now + seconds(600)), FailureChange::kNone);
  EXPECT_EQ(watch.Take(Success(), now + seconds(601)), FailureChange::kSucceedsAgain);
  EXPECT_EQ(watch.Take(Success(), now + seconds(602)), FailureChange::kNone);
  EXPECT_EQ(watch.Take(Refused(503, "a"), now + seconds(603)), FailureChange::kFails);
}

TEST(FailureWatch, TellsAnotherReasonButNotAnotherNumberOrComplaint) {
  FailureWatch watch;
  Instant now{seconds(1'000)};
  const auto take = [&](const PrometheusReply& reply) {
    now += seconds(60);
    return watch.Take(reply, now);
  };
  EXPECT_EQ(take(Refused(503, "timed out after 12 s")), FailureChange::kFails);
  EXPECT_EQ(take(Refused(503, "timed out in the queue")), FailureChange::kNone);
  EXPECT_EQ(take(Refused(401, "")), FailureChange::kFails);
  EXPECT_EQ(take(Failure(FetchResult::kNoConnection, "connecting: refused")),
            FailureChange::kFails);
  EXPECT_EQ(take(Failure(FetchResult::kNoConnection, "no address")), FailureChange::kFails);
  EXPECT_EQ(take(Failure(FetchResult::kTimeout, "connecting: no answer")), FailureChange::kFails);
  EXPECT_EQ(take(Failure(FetchResult::kTimeout, "the answer: no answer")), FailureChange::kNone);
  EXPECT_EQ(take(Failure(FetchResult::kBroken, "at byte 17")), FailureChange::kFails);
  EXPECT_EQ(take(Failure(FetchResult::kBroken, "at byte 4")), FailureChange::kNone);
}

TEST(FailureWatch, TellsReasonsThatTakeTurnsAtMostOnceAMinute) {
  FailureWatch watch;
  const Instant begin{seconds(1'000)};
  int told = 0;
  for (int at_s = 0; at_s < 300; at_s += 5) {
    const PrometheusReply reply = Refused(at_s % 10 == 0 ? 502 : 503, "");
    told += watch.Take(reply, begin + seconds(at_s)) == FailureChange::kFails ? 1 : 0;
  }
  EXPECT_EQ(told, 5);
}

}  // namespace
}  // namespace podgpu
