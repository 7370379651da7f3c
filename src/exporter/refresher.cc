#include "exporter/refresher.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {
namespace {

// How often a kubelet is asked that does not list all of its pods yet.
constexpr std::chrono::milliseconds kPaceInDoubt{1'000};

std::string_view WhyInDoubt(ListVerdict verdict) {
  return verdict == ListVerdict::kLacksOwnPod
             ? "it lacks podgpu's own pod, so the kubelet has just started and does not know all "
               "of "
               "its pods. If this lasts, look whether the node reaches the API server"
             : "the kubelet has just started, or has lost all of its pods at once. The list counts "
               "when it has been the same for 10 s; with POD_NAME and POD_NAMESPACE set it counts "
               "as soon as podgpu's own pod is on it";
}

// Pods and devices together.  A node has 110 pods as a rule.
constexpr size_t kHugeAnswer = 2'000;
// Looks after a huge answer until what pages made of it is gone: a minute as a rule.
constexpr int kLooksUntilReturned = 6;

}  // namespace

KubeletRefresher::KubeletRefresher(PodResources& kubelet, RefresherOptions options, Clock& clock,
                                   Wakeup& tick)
    : kubelet_(kubelet),
      options_(options),
      clock_(clock),
      tick_(tick),
      completeness_(options.in_pod),
      memory_return_(kHugeAnswer, kLooksUntilReturned) {
  Publish(PartState::kStarting, "asking the kubelet for the first time", false);
}

void KubeletRefresher::Run(const std::stop_token& stop) {
  do {
    RefreshOnce();
  } while (clock_.WaitUntil(
      clock_.Now() +
          (current_.is_incomplete ? std::min(kPaceInDoubt, options_.period) : options_.period),
      stop));
}

void KubeletRefresher::RefreshOnce() {
  if (memory_return_.IsDue()) {
    ReturnFreeMemory();
  }
  const Instant asked_at = clock_.Now();
  StatusOr<PodAllocations> answer = kubelet_.List();
  if (!answer.ok()) {
    Refuse(answer.status());
    return;
  }
  memory_return_.Took(answer->pod_count + answer->allocations.size() + answer->claimed.size());
  const ListVerdict verdict = completeness_.Judge(*answer, clock_.Now());
  if (verdict == ListVerdict::kComplete) {
    Accept(*std::move(answer), asked_at);
  } else {
    Doubt(verdict, *answer);
  }
}

// The last complete list stays, and grows old.
void KubeletRefresher::Doubt(ListVerdict verdict, const PodAllocations& answer) {
  current_.is_incomplete = true;
  Publish(current_.answer != nullptr ? PartState::kDegraded : PartState::kWaiting,
          absl::StrFormat("the kubelet's list is incomplete: it has %d pods; %s", answer.pod_count,
                          WhyInDoubt(verdict)),
          false);
}

void KubeletRefresher::Accept(PodAllocations answer, Instant asked_at) {
  current_.asked_at = asked_at;
  current_.is_incomplete = false;
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
  current_.is_incomplete = false;
  const bool had_answer = current_.answer != nullptr;
  Publish(had_answer ? PartState::kDegraded : PartState::kWaiting, std::string(failure.message()),
          false);
}

void KubeletRefresher::Publish(PartState state, std::string detail, bool news) {
  const bool state_changed = state != current_.state || was_incomplete_ != current_.is_incomplete;
  was_incomplete_ = current_.is_incomplete;
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
