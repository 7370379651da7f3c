#include "metrics_api/access/review_cache.h"

#include <algorithm>

#include <openssl/sha.h>

namespace podgpu {
namespace {

std::string KeyOfReview(const Review& review) {
  std::string key(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(review.body.data()), review.body.size(),
         reinterpret_cast<unsigned char*>(key.data()));
  return key + (review.kind == ReviewKind::kToken ? "t" : "a");
}

}  // namespace

ReviewState ReviewCache::Ask(const Review& review, Instant now) {
  std::string key = KeyOfReview(review);
  if (const auto known = known_.find(key); known != known_.end()) {
    if (now < known->second.until) {
      return {ReviewState::Kind::kKnown, known->second.result};
    }
    known_.erase(known);
  }
  if (waiting_.contains(key)) {
    return {ReviewState::Kind::kWaiting};
  }
  if (waiting_.size() >= options_.most_waiting) {
    return {ReviewState::Kind::kTooMany};
  }
  open_.push_back(key);
  waiting_.emplace(std::move(key), review);
  return {ReviewState::Kind::kWaiting};
}

std::optional<ReviewCache::Open> ReviewCache::Next() {
  if (open_.empty()) {
    return std::nullopt;
  }
  std::string key = std::move(open_.front());
  open_.pop_front();
  Review review = waiting_.at(key);
  return Open{std::move(key), std::move(review)};
}

void ReviewCache::Finish(const std::string& key, ReviewResult result, Instant now) {
  waiting_.erase(key);
  MakeRoom(now);
  const Duration counts = result.ok() ? options_.verdict_counts : options_.failure_counts;
  known_.insert_or_assign(
      key, Known{std::make_shared<const ReviewResult>(std::move(result)), now + counts});
}

void ReviewCache::MakeRoom(Instant now) {
  if (known_.size() < options_.most_verdicts) {
    return;
  }
  std::erase_if(known_, [now](const auto& entry) { return now >= entry.second.until; });
  if (known_.size() >= options_.most_verdicts) {
    known_.erase(
        std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.until; }));
  }
}

}  // namespace podgpu
