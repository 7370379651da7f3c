#include "refresh/refresher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"

namespace podgpu {
namespace {

// The pace while the kubelet does not list all of its pods yet.
constexpr std::chrono::milliseconds kPaceInDoubt{1'000};
// The time without a change after which the pods of the node count as quiet.
constexpr std::chrono::seconds kQuietAfter{60};

std::string_view WhyInDoubt(ListVerdict verdict) {
  return verdict == ListVerdict::kLacksOwnPod
             ? "podgpu's own pod is missing, so the kubelet has just started and does not know all "
               "of its pods. If this lasts, check whether the node reaches the API server"
             : "the kubelet has just started, or has lost all of its pods at once. podgpu uses the "
               "list when it has been the same for 10 s, or has kept changing for a minute; with "
               "POD_NAME and POD_NAMESPACE set, as soon as podgpu's own pod is on it";
}

// Pods and devices together.  A node has at most 110 pods by default.
constexpr size_t kHugeAnswer = 2'000;
// Requests after a huge answer until the pages made from it are freed: a minute by default.
constexpr int kLooksUntilReturned = 6;

std::string Summary(const PodAllocations& answer) {
  std::string text = absl::StrFormat("pod-resources %s answers: %s, %s given", answer.api_version,
                                     Counted(answer.pod_count, "pod"),
                                     Counted(answer.allocations.size(), "device id"));
  if (!answer.claimed.empty()) {
    absl::StrAppendFormat(&text, ", %s by claims", Counted(answer.claimed.size(), "device"));
  }
  return text;
}

PodFacts AtFirst(bool is_expected) {
  PodFacts first;
  first.is_expected = is_expected;
  first.detail = "asking the kubelet for the first time";
  return first;
}

}  // namespace

KubeletRefresher::KubeletRefresher(PodResources& kubelet, RefresherOptions options, Clock& clock,
                                   Wakeup& tick)
    : kubelet_(kubelet),
      options_(options),
      clock_(clock),
      completeness_(options.in_pod),
      memory_return_(kHugeAnswer, kLooksUntilReturned),
      publisher_(
          {.message = "kubelet pod-resources state changed", .is_expected = !options.expected},
          AtFirst(options.expected), tick) {}

void KubeletRefresher::Run(const std::stop_token& stop) {
  do {
    RefreshOnce();
  } while (next_request_.SleepUntil(clock_, clock_.Now() + Pause(), stop));
}

std::chrono::milliseconds KubeletRefresher::Pause() const {
  const PodFacts& facts = publisher_.current();
  if (facts.is_incomplete) {
    return std::min(kPaceInDoubt, options_.period);
  }
  const bool is_quiet = facts.state == PartState::kOk && facts.good_at - changed_at_ >= kQuietAfter;
  return is_quiet ? options_.quiet_period : options_.period;
}

void KubeletRefresher::RefreshOnce() {
  if (memory_return_.IsDue()) {
    ReturnFreeMemory();
  }
  const Instant asked_at = clock_.Now();
  StatusOr<std::shared_ptr<const PodAllocations>> listed = kubelet_.List();
  if (!listed.ok()) {
    Refuse(listed.status());
    return;
  }
  const PodAllocations& answer = **listed;
  memory_return_.Took(answer.pod_count + answer.allocations.size() + answer.claimed.size());
  const ListVerdict verdict = completeness_.Judge(answer, clock_.Now());
  if (verdict == ListVerdict::kComplete) {
    Accept(*std::move(listed), asked_at);
  } else {
    Doubt(verdict, answer);
  }
}

// Keeps the last complete list; its age grows.
void KubeletRefresher::Doubt(ListVerdict verdict, const PodAllocations& answer) {
  PodFacts next = publisher_.current();
  next.is_incomplete = true;
  next.state = next.value != nullptr ? PartState::kDegraded : PartState::kWaiting;
  next.detail = absl::StrFormat("the kubelet's list is incomplete: it has %s; %s",
                                Counted(answer.pod_count, "pod"), WhyInDoubt(verdict));
  publisher_.Publish(std::move(next));
}

void KubeletRefresher::Accept(std::shared_ptr<const PodAllocations> answer, Instant asked_at) {
  PodFacts next = publisher_.current();
  next.asked_at = asked_at;
  next.good_at = clock_.Now();
  const bool was_fine = next.state == PartState::kOk && !next.is_incomplete;
  if (!was_fine || answer != accepted_) {
    next.is_incomplete = false;
    next.state = PartState::kOk;
    next.detail = Summary(*answer);
    if (next.value == nullptr || !next.value->ListsTheSame(*answer)) {
      next.value = answer;
      changed_at_ = next.good_at;
    }
    accepted_ = std::move(answer);
  }
  publisher_.Publish(std::move(next));
}

void KubeletRefresher::Refuse(const Status& failure) {
  PodFacts next = publisher_.current();
  ++next.failures;
  next.is_incomplete = false;
  next.state = next.value != nullptr ? PartState::kDegraded : PartState::kWaiting;
  next.detail = std::string(failure.message());
  publisher_.Publish(std::move(next));
}

}  // namespace podgpu
