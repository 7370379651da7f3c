// The facts that each thread publishes: the kubelet's pods, collections of the API server, jobs,
// containers, processes, and what the source thread does.
//
// Each refresher asks at its own pace and publishes one of these types; the tick takes the newest
// of each (tick_facts.h).  Immutable once published.  Plain data; it knows no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "attribution/hpc_jobs.h"
#include "attribution/runtime_containers.h"
#include "base/clock.h"
#include "facts/fact.h"
#include "facts/part_state.h"
#include "kube/api_object.h"
#include "kube/pod_resources.h"
#include "kube/renewed_pods.h"

namespace podgpu {

// The devices of the node's pods, as the kubelet lists them.
struct PodFacts : Fact<PodAllocations> {
  Instant asked_at{};  // Time of the request for `value`; the answer came at `good_at`.
  // The kubelet answers, but does not list all pods yet: a pod that is not on the list may hold a
  // device.
  bool is_incomplete = false;
  bool is_expected = true;  // --kubernetes was given; without it a host may have no kubelet.

  bool HasStateOf(const PodFacts& before) const {
    return state == before.state && is_incomplete == before.is_incomplete;
  }
};

// One collection, as the API server, or the kubelet in its place, lists it.  While the state is ok,
// the value is right.  In any other state `good_at` says when it was last ok.
struct ApiFacts : Fact<ApiObjects> {
  RenewedAt renewed = {};       // Time at which each name began to mean its pod.
  uint64_t requests = 0;        // Requests sent to the server.
  bool is_of_kubelet = false;   // The kubelet lists the pods (refresh/kubelet_pods_refresher.h).
  absl::StatusCode cause = {};  // Why the kubelet's list is not ok; each cause has its log line.

  bool HasStateOf(const ApiFacts& before) const {
    return state == before.state && cause == before.cause;
  }
};

// The batch system's jobs.  The value is null while the directory cannot be listed.
struct JobFacts : Fact<HpcJobs> {};

// The containers of a runtime outside Kubernetes, as its last good list had them.
struct ContainerFacts : Fact<RuntimeContainers> {
  absl::StatusCode cause = {};  // Why the runtime gave no list; each cause has its log line.

  bool HasStateOf(const ContainerFacts& before) const {
    return state == before.state && cause == before.cause;
  }
};

// The state of reading processes.  The readings themselves go through usage/process_queue.h.
struct ProcessFacts {
  PartState state = PartState::kStarting;
  std::string detail = "reading processes for the first time";  // A plain sentence.
  std::vector<std::string> uuids;  // UUIDs of devices, by device number.
  uint64_t failures = 0;           // Failed readings since the start.
};

// The activity of the source thread.
struct SourceStatus {
  PartState state = PartState::kStarting;
  std::string detail;        // A plain sentence.
  uint64_t connections = 0;  // Successful discoveries after a start or a lost connection.
  uint64_t read_failures = 0;
  size_t expected_gpus = 0;      // The most GPUs seen at one time, or the number on the PCI bus.
  bool needs_no_driver = false;  // There is no driver, and this machine has no GPU for it.
  std::string remedy = {};       // Empty: the usual one for the state.
  bool operator==(const SourceStatus&) const = default;
};

// The kinds of calls into the vendor library.
enum class SourceCall : uint8_t { kOpen, kDiscover, kWatch, kRead };
inline constexpr int kSourceCallCount = 4;

// Returns "open", "discover", "watch" or "read".  Closing the library counts as "open".
std::string_view SourceCallName(SourceCall call);

// A call into the vendor library that has not returned.
struct RunningCall {
  SourceCall call = SourceCall::kOpen;
  Duration elapsed{};
  bool past_deadline = false;
};

}  // namespace podgpu
