#include "refresh/kubelet_pods_refresher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"

namespace podgpu {
namespace {

// A kubelet that has just started learns the rest of its pods within seconds.
constexpr std::chrono::milliseconds kIncompletePeriod{1'000};

bool SayTheSame(const ApiObjects& one, const ApiObjects& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.SaysTheSame(b.second);
  });
}

ApiFacts NotAskedYet() {
  ApiFacts first;
  first.is_of_kubelet = true;
  first.detail = "asking the kubelet for its pods for the first time";
  return first;
}

}  // namespace

KubeletPodsRefresher::KubeletPodsRefresher(const Files& files, KubeletPodsRefresherOptions options,
                                           Clock& clock, Wakeup& tick)
    : files_(files),
      options_(std::move(options)),
      clock_(clock),
      pace_(options_.seed),
      publisher_({.message = "kubelet pod list state changed"}, NotAskedYet(), tick) {}

void KubeletPodsRefresher::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Duration wait = RefreshOnce(stop);
    if (stop.stop_requested() || !clock_.WaitUntil(clock_.Now() + wait, stop)) {
      return;
    }
  }
}

Duration KubeletPodsRefresher::RefreshOnce(const std::stop_token& stop) {
  const Instant began = clock_.Now();
  ApiRound round;
  round.was_allowed = was_allowed_;
  StatusOr<ApiObjects> pods = ListKubeletPods(options_.kubelet, files_, stop, round);
  if (stop.stop_requested()) {
    return Duration::zero();
  }
  ++requests_;
  if (pods.ok()) {
    was_allowed_ = true;
    pace_ = ApiPace(options_.seed);
    return Accept(*std::move(pods));
  }
  round.status = pods.status();
  Refuse(round.status);
  return pace_.After(round, clock_.Now() - began);
}

Duration KubeletPodsRefresher::Accept(ApiObjects pods) {
  const bool lists_us = std::ranges::any_of(pods, [this](const auto& entry) {
    return options_.own_pod.Is(entry.second.name_space, entry.second.name);
  });
  ApiFacts next = publisher_.current();
  next.requests = requests_;
  if (has_listed_us_ && !lists_us) {
    Degrade(next, absl::DataLossError(absl::StrFormat(
                      "the kubelet lists %s, but no longer podgpu's own pod: the kubelet has "
                      "just started and does not know all of its pods yet",
                      Counted(pods.size(), "pod"))));
    publisher_.Publish(std::move(next));
    return std::min<Duration>(options_.period, kIncompletePeriod);
  }
  has_listed_us_ = lists_us;
  if (next.value == nullptr || !SayTheSame(*next.value, pods)) {
    renewed_.Take(pods, clock_.Now());
    next.renewed = renewed_.at();
    next.value = std::make_shared<const ApiObjects>(std::move(pods));
  }
  next.state = PartState::kOk;
  next.cause = absl::StatusCode::kOk;
  next.detail = absl::StrFormat("the kubelet lists %s", Counted(next.value->size(), "pod"));
  publisher_.Publish(std::move(next));
  return options_.period;
}

void KubeletPodsRefresher::Refuse(const Status& failure) {
  ApiFacts next = publisher_.current();
  next.requests = requests_;
  ++next.failures;
  Degrade(next, failure);
  publisher_.Publish(std::move(next));
}

void KubeletPodsRefresher::Degrade(ApiFacts& next, const Status& failure) const {
  if (next.state == PartState::kOk) {
    next.good_at = clock_.Now();
  }
  next.state = next.value != nullptr ? PartState::kDegraded : PartState::kWaiting;
  next.cause = failure.code();
  next.detail = std::string(failure.message());
}

}  // namespace podgpu
