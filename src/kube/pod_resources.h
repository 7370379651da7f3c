// The kubelet's pod-resources API: the device ids of each container. One of the five seams.
//
// PodResources answers with a flat list of allocations, one per (container, resource, device id);
// attribution/ interprets the ids. Called on the kubelet refresher's thread. Each call has a
// deadline of its own and blocks at most that long.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// The pod that this program runs in. It observes devices and uses none.
struct OwnPod {
  std::string name;        // Empty: it runs outside a pod, or does not know its name.
  std::string name_space;  // Empty: any; names of a DaemonSet's pods are unique.

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
  std::string device_id;  // The id in the form of the device plugin.
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
  std::string device;  // "gpu-0"; a ResourceSlice of this driver and pool describes it.
  auto operator<=>(const ClaimedDevice&) const = default;
};

// One answer of the kubelet.
struct PodAllocations {
  std::string api_version;  // "v1" or "v1alpha1"
  uint32_t pod_count = 0;   // All pods in the answer, also those without devices.
  std::vector<Allocation> allocations;
  std::vector<ClaimedDevice> claimed = {};  // One entry per device and container.
  bool lists_own_pod = false;
  uint64_t connection = 0;  // Number of its connection; it changes with each reconnection.
  bool operator==(const PodAllocations&) const = default;

  // Returns whether both answers say the same of the pods, whatever connection and version they
  // came by.
  bool ListsTheSame(const PodAllocations& other) const {
    return pod_count == other.pod_count && allocations == other.allocations &&
           claimed == other.claimed && lists_own_pod == other.lists_own_pod;
  }
};

class PodResources {
 public:
  PodResources() = default;
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;
  virtual ~PodResources() = default;

  // Requests all pods of the node. kNotFound: no socket. kPermissionDenied: may not connect.
  // kUnavailable: refused or closed. kDeadlineExceeded. kResourceExhausted: an answer above the
  // limit, or rate-limited. kDataLoss: not a PodResources message. kUnimplemented: no common
  // version. Messages begin with the socket and end with the remedy. Returns the object of the last
  // answer if nothing has changed since.
  virtual StatusOr<std::shared_ptr<const PodAllocations>> List() = 0;
};

// Parses a serialized ListPodResourcesResponse of v1 (v1alpha1 uses the same field numbers), pod by
// pod, so memory stays near the size of the message. The result is in the order of the message. A
// device that is listed once per NUMA node counts once; bytes that are not UTF-8 become U+FFFD.
// kDataLoss for other input. pod_list_parser.h parses answers that come one after the other.
StatusOr<PodAllocations> ParsePodResources(std::string_view message, const OwnPod& own_pod = {});

// The two steps of ParsePodResources: SplitPods finds the bytes of each pod in `message`, AppendPod
// appends the content of one pod to `answer`. kDataLoss.
StatusOr<std::vector<std::string_view>> SplitPods(std::string_view message);
Status AppendPod(std::string_view pod_bytes, const OwnPod& own_pod, PodAllocations& answer);

struct KubeletClientOptions {
  std::string socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::chrono::milliseconds timeout{10'000};
  size_t max_message_bytes = size_t{64} << 20;
  OwnPod own_pod = {};  // Searched for in each list.
};

}  // namespace podgpu
