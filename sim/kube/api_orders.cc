// The controls of the simulated API server: what tests and faults set, and what tests wait for.
#include <utility>

#include "sim/kube/api_server.h"

namespace podgpu::sim {

void FakeApi::SetForbidden(bool is_forbidden) {
  const std::scoped_lock lock(mutex_);
  is_forbidden_ = is_forbidden;
}

void FakeApi::SetGrants(std::vector<ApiGrant> grants) {
  const std::scoped_lock lock(mutex_);
  grants_ = std::move(grants);
  forbidden_.clear();
  used_grants_.clear();
}

std::vector<std::string> FakeApi::forbidden() const {
  const std::scoped_lock lock(mutex_);
  return forbidden_;
}

std::set<size_t> FakeApi::used_grants() const {
  const std::scoped_lock lock(mutex_);
  return used_grants_;
}

void FakeApi::SetRateLimited(bool is_rate_limited) {
  const std::scoped_lock lock(mutex_);
  too_many_ = is_rate_limited == is_rate_limited_ ? too_many_ : 0;
  is_rate_limited_ = is_rate_limited;
}

void FakeApi::AcceptToken(std::string token) {
  const std::scoped_lock lock(mutex_);
  token_ = std::move(token);
}

void FakeApi::SetSilent(bool is_silent) {
  const std::scoped_lock lock(mutex_);
  is_silent_ = is_silent;
  changed_.notify_all();
}

void FakeApi::Refuse(int count, int status, std::string headers) {
  const std::scoped_lock lock(mutex_);
  refusals_ = count;
  refusal_ = status;
  refusal_headers_ = std::move(headers);
  refusal_text_.clear();
}

void FakeApi::RefuseInText(int count, int status, std::string text) {
  Refuse(count, status);
  const std::scoped_lock lock(mutex_);
  refusal_text_ = std::move(text);
}

void FakeApi::ExpirePages(int count) {
  const std::scoped_lock lock(mutex_);
  expired_pages_ = count;
}

void FakeApi::ListVersion(std::string version) {
  const std::scoped_lock lock(mutex_);
  listed_version_ = std::move(version);
}

void FakeApi::BookmarkEach(std::chrono::milliseconds period) {
  const std::scoped_lock lock(mutex_);
  bookmark_period_ = period;
  changed_.notify_all();
}

void FakeApi::PageBy(size_t items) {
  const std::scoped_lock lock(mutex_);
  page_ = items;
}

void FakeApi::ForgetHistory() {
  const std::scoped_lock lock(mutex_);
  oldest_ = ++version_;
}

void FakeApi::SendToWatches(const std::string& bytes) {
  const std::scoped_lock lock(mutex_);
  raw_ = bytes;
  ++raw_round_;
  changed_.notify_all();
}

void FakeApi::EndWatches() {
  const std::scoped_lock lock(mutex_);
  ++end_round_;
  changed_.notify_all();
}

void FakeApi::CutWatches() {
  const std::scoped_lock lock(mutex_);
  ++cut_round_;
  changed_.notify_all();
}

std::vector<std::string> FakeApi::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void FakeApi::AwaitRequests(size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void FakeApi::AwaitWatches(size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return idle_watches_ >= count; });
}

void FakeApi::AwaitBookmarks(uint64_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return bookmarks_ >= count; });
}

}  // namespace podgpu::sim
