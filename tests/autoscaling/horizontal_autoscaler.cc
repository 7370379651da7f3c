#include "tests/autoscaling/horizontal_autoscaler.h"

#include <algorithm>
#include <cmath>

namespace podgpu {
namespace {

// The default policies for scaling up, for each 15 s: the one that allows more.
constexpr int kMostMorePods = 4;
constexpr int kMostMoreTimes = 2;

// Autoscalers compute in thousandths.
int64_t Thousandths(double number) { return static_cast<int64_t>(std::ceil(number * 1'000)); }

}  // namespace

int HorizontalAutoscaler::Desired(double value) const {
  const double quotient =
      static_cast<double>(Thousandths(value)) / static_cast<double>(Thousandths(options_.target));
  return std::abs(quotient - 1) <= options_.tolerance
             ? replicas_
             : static_cast<int>(std::ceil(quotient * replicas_));
}

// Scaling down waits until the whole window recommends it.
int HorizontalAutoscaler::Stabilized(std::chrono::seconds now, int desired) {
  if (past_.empty()) {
    past_.push_back({now, replicas_});
  }
  while (!past_.empty() && past_.front().at <= now - options_.down_window) {
    past_.pop_front();
  }
  past_.push_back({now, desired});
  int highest = desired;
  for (const Recommendation& one : past_) {
    highest = std::max(highest, one.replicas);
  }
  return desired >= replicas_ ? desired : std::min(highest, replicas_);
}

int HorizontalAutoscaler::Sync(std::chrono::seconds now, std::optional<double> value) {
  if (value) {
    const int most_now = std::max(replicas_ + kMostMorePods, replicas_ * kMostMoreTimes);
    const int next = std::min(Stabilized(now, Desired(*value)), most_now);
    replicas_ = std::clamp(next, options_.least, options_.most);
  }
  return replicas_;
}

}  // namespace podgpu
