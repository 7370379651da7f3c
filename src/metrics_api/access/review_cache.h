// Verdicts of the API server, each kept for a short time, and the questions that wait for one.
//
// Both maps have a maximum size: when all places for verdicts are taken, those that are due first
// are dropped; when too many questions wait, a new one is refused. Keys are digests, so that no
// token stays in memory. Pure, with the time as an argument; the owner guards it by a lock.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "metrics_api/access/reviews.h"

namespace podgpu {

enum class ReviewKind : uint8_t { kToken, kAccess };

// A question to the API server.
struct Review {
  ReviewKind kind = ReviewKind::kToken;
  std::string body;
};

struct ReviewCacheOptions {
  Duration verdict_counts = std::chrono::seconds(10);
  Duration failure_counts = std::chrono::seconds(1);  // Then the API server is asked again.
  size_t most_verdicts = 4'096;
  size_t most_waiting = 256;
};

using ReviewResult = StatusOr<ReviewVerdict>;

// The present state of a question.
struct ReviewState {
  enum class Kind : uint8_t { kKnown, kWaiting, kTooMany };
  Kind kind = Kind::kWaiting;
  std::shared_ptr<const ReviewResult> result{};  // The verdict or the failure, for kKnown.
};

class ReviewCache {
 public:
  explicit ReviewCache(ReviewCacheOptions options) : options_(options) {}

  // Returns the verdict, or notes the question for Next.
  ReviewState Ask(const Review& review, Instant now);

  // Returns the next question that nothing was done for, with its key; nothing if there is none.
  struct Open {
    std::string key;
    Review review;
  };
  std::optional<Open> Next();
  // Ends a question that Next returned.
  void Finish(const std::string& key, ReviewResult result, Instant now);

  size_t verdicts() const { return known_.size(); }
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Known {
    std::shared_ptr<const ReviewResult> result;
    Instant until{};
  };
  void MakeRoom(Instant now);

  const ReviewCacheOptions options_;
  std::unordered_map<std::string, Known> known_;
  std::unordered_map<std::string, Review> waiting_;  // Asked, or being asked.
  std::deque<std::string> open_;                     // Keys of the questions that wait to be asked.
};

}  // namespace podgpu
