#include "exporter/refresher.h"

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {

KubeletRefresher::KubeletRefresher(PodResources& kubelet, RefresherOptions options, Clock& clock,
                                   Wakeup& tick)
    : kubelet_(kubelet), options_(options), clock_(clock), tick_(tick) {
  Publish(PartState::kStarting, "asking the kubelet for the first time", false);
}

void KubeletRefresher::Run(const std::stop_token& stop) {
  do {
    RefreshOnce();
  } while (clock_.WaitUntil(clock_.Now() + options_.period, stop));
}

void KubeletRefresher::RefreshOnce() {
  StatusOr<PodAllocations> answer = kubelet_.List();
  if (answer.ok()) {
    Accept(*std::move(answer));
  } else {
    Refuse(answer.status());
  }
}

void KubeletRefresher::Accept(PodAllocations answer) {
  current_.answered_at = clock_.Now();
  const bool news =
      current_.answer == nullptr || current_.answer->allocations != answer.allocations ||
      current_.answer->claimed != answer.claimed || current_.answer->pod_count != answer.pod_count;
  std::string detail =
      absl::StrFormat("pod-resources %s answers: %d pods, %d device ids given", answer.api_version,
                      answer.pod_count, answer.allocations.size());
  if (!answer.claimed.empty()) {
    absl::StrAppendFormat(&detail, ", %d devices by claims", answer.claimed.size());
  }
  if (news) {
    current_.answer = std::make_shared<const PodAllocations>(std::move(answer));
  }
  Publish(PartState::kOk, std::move(detail), news);
}

void KubeletRefresher::Refuse(const Status& failure) {
  ++current_.failures;
  const bool had_answer = current_.answer != nullptr;
  Publish(had_answer ? PartState::kDegraded : PartState::kWaiting, std::string(failure.message()),
          false);
}

void KubeletRefresher::Publish(PartState state, std::string detail, bool news) {
  const bool state_changed = state != current_.state;
  const bool said = state_changed || detail != current_.detail;
  current_.state = state;
  current_.detail = std::move(detail);
  facts_.Set(std::make_shared<const PodFacts>(current_));
  if (state_changed) {
    const bool fine = state == PartState::kOk || !options_.expected;
    Log(fine ? LogLevel::kInfo : LogLevel::kWarn, "the kubelet's pod list has changed its state",
        {{"state", std::string(PartStateName(state))}, {"detail", current_.detail}});
  }
  if (news || said) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
