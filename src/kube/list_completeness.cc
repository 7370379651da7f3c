#include "kube/list_completeness.h"

#include <algorithm>
#include <utility>

namespace podgpu {

ListVerdict ListCompleteness::Judge(const PodAllocations& answer, Instant now) {
  const bool is_reconnected = connection_ && *connection_ != answer.connection;
  const bool has_vanished = had_pods_ && answer.pod_count == 0;
  connection_ = answer.connection;
  was_listed_ = was_listed_ || answer.lists_own_pod;
  // A new connection restarts the doubt: the kubelet may have started again.  An empty list does
  // not restart it, otherwise a node without pods would stay in doubt.
  if (is_reconnected || (has_vanished && !doubt_)) {
    doubt_ = Doubt{ContentOf(answer), now, now};
  }
  if (doubt_ && !answer.lists_own_pod) {
    // Without the API server the list of static pods may stay the same for long, so it would count
    // as settled.  The own pod is the better sign where it is known.
    if (was_listed_) {
      return ListVerdict::kLacksOwnPod;
    }
    if (!IsSettled(answer, now, *doubt_)) {
      return ListVerdict::kUnsettled;
    }
  }
  doubt_.reset();
  had_pods_ = answer.pod_count > 0;
  return ListVerdict::kComplete;
}

bool ListCompleteness::IsSettled(const PodAllocations& answer, Instant now, Doubt& doubt) {
  Content content = ContentOf(answer);
  if (content != doubt.content) {
    doubt.content = std::move(content);
    doubt.since = now;
  }
  // Static pods hardly ever change.  A list that has kept changing for so long shows the pods of
  // the API server, and on a busy node it may never be the same for 10 s.
  const bool is_busy = now - doubt.began >= kLongestDoubt && answer.pod_count > 0;
  return is_busy || now - doubt.since >= kSettlesAfter;
}

ListCompleteness::Content ListCompleteness::ContentOf(const PodAllocations& answer) {
  Content content{answer.pod_count, answer.allocations, answer.claimed};
  std::ranges::sort(content.allocations);
  std::ranges::sort(content.claimed);
  return content;
}

}  // namespace podgpu
