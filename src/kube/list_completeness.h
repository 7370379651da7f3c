// Judges whether an answer of the kubelet lists all pods of the node.
//
// A kubelet that has just started answers OK with a list that lacks pods: first it has none, then
// those from files of the node, and all when the API server has answered.  That takes a second, or
// as long as the API server is away (seen on 1.31, 1.34 and 1.37).  So an answer is doubted when it
// came over another connection than the one before, and when it has no pod at all where there were
// some.  The doubt ends when our own pod is listed.  Where our pod was never listed (it runs
// outside Kubernetes, or does not know its name), the doubt ends when the list has been the same
// for 10 s. Pure but for its memory; the thread of the kubelet refresher.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "kube/pod_resources.h"

namespace podgpu {

enum class ListVerdict : uint8_t {
  kComplete,
  kLacksOwnPod,  // It lacks our own pod, which was listed before.
  kUnsettled,    // It has not been the same for long enough.
};

class ListCompleteness {
 public:
  static constexpr std::chrono::seconds kSettlesAfter{10};

  // `in_pod`: we run in a pod, so a list without any pod is never complete.
  explicit ListCompleteness(bool in_pod) : had_pods_(in_pod) {}

  // Takes each answer once, in order.
  ListVerdict Judge(const PodAllocations& answer, Instant now);

 private:
  // What an answer says, in an order of our own: the kubelet's differs from answer to answer.
  struct Content {
    uint32_t pod_count = 0;
    std::vector<Allocation> allocations;
    std::vector<ClaimedDevice> claimed;
    bool operator==(const Content&) const = default;
  };
  struct Doubt {
    Content content;
    Instant since;  // When the content was first seen.
  };

  static Content ContentOf(const PodAllocations& answer);
  static bool IsSettled(const PodAllocations& answer, Instant now, Doubt& doubt);

  bool had_pods_;  // The last complete list.
  bool was_listed_ = false;
  std::optional<uint64_t> connection_;  // Of the last answer.
  std::optional<Doubt> doubt_;
};

}  // namespace podgpu
