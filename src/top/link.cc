#include "top/link.h"

#include <algorithm>
#include <array>
#include <utility>

namespace podgpu {

void Link::Answered(Instant now, std::chrono::milliseconds interval) {
  is_asking_ = false;
  failures_ = 0;
  failure_.clear();
  heard_at_ = now;
  next_at_ = std::max(now, asked_at_ + interval);
}

void Link::Failed(Instant now, std::string failure, bool has_answered) {
  using std::chrono::seconds;
  constexpr std::array<seconds, 4> kPauses = {seconds(1), seconds(2), seconds(4), seconds(5)};
  is_asking_ = false;
  failure_ = std::move(failure);
  has_answered_ = has_answered;
  next_at_ = now + kPauses[std::min<size_t>(static_cast<size_t>(failures_), kPauses.size() - 1)];
  ++failures_;
}

}  // namespace podgpu
