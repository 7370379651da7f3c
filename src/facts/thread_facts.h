// The facts that each thread publishes: the kubelet's pods, collections of the API server, jobs,
// processes, and what the source thread does.
//
// A refresher of the exporter asks at its own pace and publishes one of these; the tick takes the
// newest of all (tick_facts.h).  Immutable once published.  Plain data; it knows no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "attribution/hpc_jobs.h"
#include "base/clock.h"
#include "facts/fact.h"
#include "facts/part_state.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "kube/renewed_pods.h"

namespace podgpu {

// What the kubelet says of the node's pods.
struct PodFacts : Fact<PodAllocations> {
  Instant asked_at{};  // When `value` was asked for; it came at `good_at`.
  // The kubelet answers, but does not list all pods yet: a pod that is not on the list may have a
  // device.
  bool is_incomplete = false;

  bool HasStateOf(const PodFacts& before) const {
    return state == before.state && is_incomplete == before.is_incomplete;
  }
};

// What the API server, or the kubelet in its place, says of one collection.  While the state is ok,
// the value is right; `good_at` is when the state was last ok, and has a meaning only when it is
// not.
struct ApiFacts : Fact<ApiObjects> {
  RenewedAt renewed = {};       // Names that mean other pods than before.
  uint64_t requests = 0;        // Sent to the server.
  bool is_of_kubelet = false;   // The kubelet lists the pods (refresh/kubelet_pods_refresher.h).
  absl::StatusCode cause = {};  // Why the kubelet's list is not ok; each cause has its log line.

  bool HasStateOf(const ApiFacts& before) const {
    return state == before.state && cause == before.cause;
  }
};

// The batch system's jobs.  The value is null while the directory cannot be listed.
struct JobFacts : Fact<HpcJobs> {};

// How reading processes goes.  Readings themselves go through usage/process_feed.h.
struct ProcessFacts {
  PartState state = PartState::kStarting;
  std::string detail = "reading processes for the first time";  // A plain sentence.
  std::vector<std::string> uuids;                               // Of devices, by their numbers.
  uint64_t failures = 0;  // Readings that were not made, since the start.
};

// What the source thread does.
struct SourceStatus {
  PartState state = PartState::kStarting;
  std::string detail;        // A plain sentence.
  uint64_t connections = 0;  // Successful discoveries after a start or a loss.
  uint64_t read_failures = 0;
  size_t expected_gpus = 0;  // The most that were ever seen together, or that the PCI bus shows.
  bool operator==(const SourceStatus&) const = default;
};

// The kinds of calls into the vendor library.
enum class SourceCall : uint8_t { kOpen, kDiscover, kWatch, kRead };
inline constexpr int kSourceCallCount = 4;

// "open", "discover", "watch", "read".  Closing the library counts as "open".
std::string_view SourceCallName(SourceCall call);

// A call into the vendor library that has not returned.
struct RunningCall {
  SourceCall call = SourceCall::kOpen;
  Duration elapsed{};
  bool past_deadline = false;
};

}  // namespace podgpu
