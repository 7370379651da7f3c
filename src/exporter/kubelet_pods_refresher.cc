#include "exporter/kubelet_pods_refresher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {
namespace {

// A kubelet that has just started soon knows the rest of its pods.
constexpr std::chrono::milliseconds kIncompletePeriod{1'000};

bool SayTheSame(const ApiObjects& one, const ApiObjects& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.SaysTheSame(b.second);
  });
}

}  // namespace

KubeletPodsRefresher::KubeletPodsRefresher(const Files& files, KubeletPodsRefresherOptions options,
                                           Clock& clock, Wakeup& tick)
    : files_(files),
      options_(std::move(options)),
      clock_(clock),
      tick_(tick),
      pace_(options_.seed) {
  current_.is_of_kubelet = true;
  current_.detail = "asking the kubelet for its pods for the first time";
  facts_.Set(std::make_shared<const ApiFacts>(current_));
}

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
  ++current_.requests;
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
  ApiFacts next = current_;
  if (has_listed_us_ && !lists_us) {
    Degrade(next, absl::StrFormat("the kubelet lists %d pods, and the one of this program, which "
                                  "it has listed before, is not one of them: it has just started "
                                  "and does not know all of its pods yet",
                                  pods.size()));
    Publish(std::move(next), absl::StatusCode::kDataLoss);
    return std::min<Duration>(options_.period, kIncompletePeriod);
  }
  has_listed_us_ = lists_us;
  if (next.objects == nullptr || !SayTheSame(*next.objects, pods)) {
    renewed_.Take(pods, clock_.Now());
    next.renewed = renewed_.at();
    next.objects = std::make_shared<const ApiObjects>(std::move(pods));
  }
  next.state = PartState::kOk;
  next.detail = absl::StrFormat("the kubelet lists %d pods", next.objects->size());
  Publish(std::move(next), absl::StatusCode::kOk);
  return options_.period;
}

void KubeletPodsRefresher::Refuse(const Status& failure) {
  ApiFacts next = current_;
  ++next.failures;
  Degrade(next, std::string(failure.message()));
  Publish(std::move(next), failure.code());
}

void KubeletPodsRefresher::Degrade(ApiFacts& next, std::string detail) const {
  if (next.state == PartState::kOk) {
    next.lost_at = clock_.Now();
  }
  next.state = next.objects != nullptr ? PartState::kDegraded : PartState::kWaiting;
  next.detail = std::move(detail);
}

void KubeletPodsRefresher::Publish(ApiFacts next, absl::StatusCode cause) {
  const bool cause_changed = std::exchange(cause_, cause) != cause;
  const bool state_changed = next.state != current_.state || cause_changed;
  const bool news =
      state_changed || next.objects != current_.objects || next.detail != current_.detail;
  current_ = std::move(next);
  facts_.Set(std::make_shared<const ApiFacts>(current_));
  if (state_changed) {
    Log(current_.state == PartState::kOk ? LogLevel::kInfo : LogLevel::kWarn,
        "the kubelet's list of pods has changed its state",
        {{"state", std::string(PartStateName(current_.state))}, {"detail", current_.detail}});
  }
  if (news) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
