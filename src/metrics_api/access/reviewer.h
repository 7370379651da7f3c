// Asks the API server to review tokens and accesses, on a thread of its own.
//
// Any thread asks and gets the verdict, or learns that it is not there yet and asks again later;
// nothing waits inside. One connection sends the questions one after the other, each with a
// deadline; a failure counts for all who wait for it, and is logged when it begins and ends.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/wakeup.h"
#include "kube/api_connection.h"
#include "metrics_api/access/review_cache.h"

namespace podgpu {

struct ReviewerFacts {
  bool is_ok = true;   // False: the last question failed.
  std::string detail;  // Reason of the failure, with the remedy.
  // Counts by kind: answers that grant, answers that do not, failures.
  std::array<uint64_t, 2> granted{}, denied{}, failed{};
  size_t verdicts = 0, waiting = 0;
};

class Reviewer {
 public:
  // All borrowed objects outlive it.
  Reviewer(ApiServerOptions server, ReviewCacheOptions options, const Files& files, Clock& clock);

  ReviewState Ask(const Review& review);
  ReviewerFacts facts() const;

  // The body of the thread.
  void Run(const std::stop_token& stop);

 private:
  void AnswerAll(const std::stop_token& stop);
  StatusOr<std::string> Send(const Review& review, const std::stop_token& stop);
  StatusOr<std::string> SendOnce(const Review& review, const std::stop_token& stop);
  void Note(ReviewKind kind, const ReviewResult& result);

  const ApiServerOptions server_;
  const Files& files_;
  Clock& clock_;
  Wakeup wakeup_;
  std::unique_ptr<ApiConnection> connection_;  // Null: none is open. Thread of Run.
  mutable Mutex mutex_;  // Questions come from the HTTP thread, verdicts from the thread of Run.
  ReviewCache cache_ PODGPU_GUARDED_BY(mutex_);
  ReviewerFacts facts_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
