// The owners of each device: the result of joining devices with the kubelet's allocations.
//
// The pure function Join makes it once per epoch; then it never changes and is shared through
// Published. Owners of an entity are sorted (namespace, pod, container, replica), so equal facts
// give equal bytes on the page. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/pod_labels.h"
#include "topology/topology.h"

namespace podgpu {

// The claim of dynamic resource allocation that gave the device; all members are empty when a
// device plugin gave it.
struct Claim {
  std::string name;
  std::string name_space;
  std::string driver;       // "gpu.nvidia.com"
  std::string pool;         // Name of the pool; NVIDIA's driver uses the node's name.
  std::string device;       // "gpu-0"
  std::string mig_profile;  // "1g.10gb"; empty for a whole GPU.
  std::string mig_uuid;
  auto operator<=>(const Claim&) const = default;
};

// One container that holds one device, or one replica of it.
struct Owner {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;  // "nvidia.com/gpu"; empty for a claim.
  std::string pod_uid;   // Empty until pods are read from the API server.
  Claim claim;
  std::string replica;    // "3" of GPU-...::3 or nvidia0/vgpu3; empty without replicas.
  PodLabels labels = {};  // The pod's labels that are shown on rows.
  auto operator<=>(const Owner&) const = default;
};

// The reason why an allocation of a GPU resource matched no device. Their names are label values of
// podgpu_devices_unmatched.
enum class UnmatchedReason : uint8_t {
  kUnknownIdForm,    // The id has no known form.
  kUnknownDevice,    // A known form, but no device of this node.
  kNvmlMissing,      // A MIG-<uuid>, and NVML is not available to resolve it.
  kUnknownMigUuid,   // A MIG-<uuid> that NVML does not know (the instance is gone).
  kNoResourceSlice,  // A claim for a device that is in no received ResourceSlice.
  kUnclearInstance,  // A MIG claim without UUID; none or several instances have its profile.
};
inline constexpr int kUnmatchedReasonCount = 6;

// Returns "unknown_id_form" and so on.
std::string_view UnmatchedReasonName(UnmatchedReason reason);

struct UnmatchedDevice {
  std::string resource;   // For a claim: name of the driver.
  std::string device_id;  // For a claim: "pool/device".
  UnmatchedReason reason = UnmatchedReason::kUnknownIdForm;
  auto operator<=>(const UnmatchedDevice&) const = default;
};

// Returns the only container among the owners of a device, even if it holds several replicas; null
// when there are none or several containers. Borrowed from `owners`.
const Owner* SoleOwner(const std::vector<Owner>& owners);

// Returns one owner of each container, in their order: a container may hold several replicas or
// instances. Borrowed from `owners`.
std::vector<const Owner*> OnePerContainer(std::vector<const Owner*> owners);
std::vector<const Owner*> OnePerContainer(const std::vector<Owner>& owners);

// Number of labels that a pod's rows do not show because it has too many (pod_labels.h).
struct DroppedLabels {
  std::string pod_namespace;
  std::string pod;
  size_t count = 0;
  auto operator<=>(const DroppedLabels&) const = default;
};

struct Owners {
  std::vector<std::vector<Owner>> by_entity;  // One entry per Topology::entities.
  // Jobs of a batch system; empty without one.
  std::vector<std::vector<std::string>> jobs_by_entity;
  // Names of containers of a runtime outside Kubernetes; empty without one.
  std::vector<std::vector<std::string>> containers_by_entity = {};
  std::vector<UnmatchedDevice> unmatched;  // Sorted.
  // One sentence per device of those containers that matches no entity.
  std::vector<std::string> unmatched_of_containers = {};
  // Resources that are not known as GPUs, though a device id contains the UUID of one.  Sorted.
  std::vector<std::string> unnamed_resources;
  std::vector<DroppedLabels> dropped_labels;  // Sorted by pod.
  bool operator==(const Owners&) const = default;
};

}  // namespace podgpu
