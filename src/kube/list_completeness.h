// Decides whether an answer of the kubelet lists all pods of the node.
//
// A kubelet that has just started answers OK with an incomplete list: first empty, then with the
// pods from files of the node, and complete only after the API server has answered. That takes a
// second, or as long as the API server is unavailable (observed on 1.31, 1.34 and 1.37). An answer
// is therefore doubted when it came over a new connection, and when it lists no pods although the
// previous one did. The doubt ends when podgpu's own pod is listed. If that pod was never listed
// (podgpu runs outside Kubernetes, or does not know its name), the doubt ends when the list has
// been the same for 10 s, or has pods and has kept changing for a minute. Pure; called on the
// kubelet refresher's thread.
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
  kLacksOwnPod,  // It lacks podgpu's own pod, which was listed before.
  kUnsettled,    // It has not been unchanged for long enough.
};

class ListCompleteness {
 public:
  static constexpr std::chrono::seconds kSettlesAfter{10};
  static constexpr std::chrono::seconds kLongestDoubt{60};

  // `in_pod`: podgpu runs in a pod, so already a first list without pods is in doubt.
  explicit ListCompleteness(bool in_pod) : had_pods_(in_pod) {}

  // Call it with each answer once, in order.
  ListVerdict Judge(const PodAllocations& answer, Instant now);

 private:
  // Content of an answer, sorted: the kubelet's order changes between answers.
  struct Content {
    uint32_t pod_count = 0;
    std::vector<Allocation> allocations;
    std::vector<ClaimedDevice> claimed;
    bool operator==(const Content&) const = default;
  };
  struct Doubt {
    Content content;
    Instant since;  // Time since which the content is unchanged.
    Instant began;
  };

  static Content ContentOf(const PodAllocations& answer);
  static bool IsSettled(const PodAllocations& answer, Instant now, Doubt& doubt);

  bool had_pods_;  // The last complete list had pods.
  bool was_listed_ = false;
  std::optional<uint64_t> connection_;  // Connection of the last answer.
  std::optional<Doubt> doubt_;
};

}  // namespace podgpu
