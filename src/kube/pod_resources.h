// The kubelet's pod-resources API: which container was given which device ids.  One of the five
// seams.
//
// PodResources answers with a flat list of allocations, one per (container, resource, device id),
// in the kubelet's order; what the ids mean is the business of attribution/.  The caller is the
// kubelet refresher, one thread; a call has a deadline of its own and may block that long, never
// longer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The pod that this program runs in.  It looks at devices, and uses none.
struct OwnPod {
  std::string name;        // Empty: it runs in none, or does not know.
  std::string name_space;  // Empty: any; names of a DaemonSet's pods are not given twice.

  bool Is(std::string_view pod_namespace, std::string_view pod) const {
    return !name.empty() && pod == name && (name_space.empty() || pod_namespace == name_space);
  }
};

// One device id given to one container.
struct Allocation {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;   // "nvidia.com/gpu"
  std::string device_id;  // As the device plugin named it.
  auto operator<=>(const Allocation&) const = default;
};

// One device of a claim (dynamic resource allocation) given to one container.
struct ClaimedDevice {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string claim_namespace;
  std::string claim;
  std::string driver;  // "gpu.nvidia.com"
  std::string pool;
  std::string device;  // "gpu-0": what it is says a ResourceSlice of that driver and pool.
  auto operator<=>(const ClaimedDevice&) const = default;
};

// One answer of the kubelet.
struct PodAllocations {
  std::string api_version;  // "v1" or "v1alpha1"
  uint32_t pod_count = 0;   // All pods in the answer, with or without devices.
  std::vector<Allocation> allocations;
  std::vector<ClaimedDevice> claimed = {};  // Each once per container.
  bool lists_own_pod = false;
  uint64_t connection = 0;  // Which one it came over: another number after each reconnection.
};

class PodResources {
 public:
  PodResources() = default;
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;
  virtual ~PodResources() = default;

  // Asks for all pods of the node.  kNotFound: no socket; kPermissionDenied: may not connect;
  // kUnavailable: refused or closed; kDeadlineExceeded; kResourceExhausted: an answer above the
  // limit, or rate-limited; kDataLoss: an answer that is no PodResources message; kUnimplemented:
  // no version that we speak.  The status names the socket first and the remedy last.
  virtual StatusOr<PodAllocations> List() = 0;
};

// Reads a serialized ListPodResourcesResponse of v1 (v1alpha1 has the same numbers for what it
// has), pod by pod, so that memory stays near the size of the message.  A device that is listed
// once per NUMA node counts once; bytes that are no UTF-8 become U+FFFD.  kDataLoss otherwise.
StatusOr<PodAllocations> ParsePodResources(std::string_view message, const OwnPod& own_pod = {});

struct KubeletClientOptions {
  std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::chrono::milliseconds timeout{10'000};
  size_t max_message_bytes = size_t{64} << 20;
  OwnPod own_pod = {};  // Looked for on each list.
};

}  // namespace podgpu
