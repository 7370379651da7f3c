// Who holds which device: the result of joining devices with the kubelet's allocations.
//
// Made once per epoch by the pure function Join and never changed; shared through Published. Owners
// of an entity are sorted (namespace, pod, container, replica) so that equal facts give equal bytes
// on the page.  Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attribution/pod_labels.h"
#include "topology/topology.h"

namespace podgpu {

// By which claim of dynamic resource allocation a device is held; all empty where a device plugin
// gave it.
struct Claim {
  std::string name;
  std::string name_space;
  std::string driver;       // "gpu.nvidia.com"
  std::string pool;         // The node's name, with NVIDIA's driver.
  std::string device;       // "gpu-0"
  std::string mig_profile;  // "1g.10gb"; empty for a whole GPU, as the next.
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
  std::string replica;    // "3" of GPU-...::3 or nvidia0/vgpu3; empty when the device is not shared
                          // by replicas.
  PodLabels labels = {};  // Those of the pod that are wanted on rows.
  auto operator<=>(const Owner&) const = default;
};

// Why an allocation of a GPU resource found no device.  The words are label values of
// podgpu_devices_unmatched.
enum class UnmatchedReason : uint8_t {
  kUnknownIdForm,    // No known shape of id.
  kUnknownDevice,    // A known shape that names no device of this node.
  kNvmlMissing,      // A MIG-<uuid>, and NVML is not there to say which instance it is.
  kUnknownMigUuid,   // A MIG-<uuid> that NVML does not know (the instance is gone).
  kNoResourceSlice,  // A claim of a device that is in no ResourceSlice that has come.
  kUnclearInstance,  // A claim of a MIG device without UUID, and not one instance has its profile.
};
inline constexpr int kUnmatchedReasonCount = 6;

// "unknown_id_form" and so on.
std::string_view UnmatchedReasonName(UnmatchedReason reason);

struct UnmatchedDevice {
  std::string resource;   // Of a claim, the driver.
  std::string device_id;  // Of a claim, "pool/device".
  UnmatchedReason reason = UnmatchedReason::kUnknownIdForm;
  auto operator<=>(const UnmatchedDevice&) const = default;
};

// The one container among the owners of a device, however many replicas it holds; null when there
// is none, or more than one.  Borrowed from `owners`.
const Owner* SoleOwner(const std::vector<Owner>& owners);

// Labels of a pod that are on no row, since it has too many (pod_labels.h).
struct DroppedLabels {
  std::string pod_namespace;
  std::string pod;
  size_t count = 0;
  auto operator<=>(const DroppedLabels&) const = default;
};

struct Owners {
  std::vector<std::vector<Owner>> by_entity;             // As many as Topology::entities.
  std::vector<std::vector<std::string>> jobs_by_entity;  // Of a batch system; empty without one.
  std::vector<UnmatchedDevice> unmatched;                // Sorted.
  std::vector<DroppedLabels> dropped_labels;             // By pod.
  bool operator==(const Owners&) const = default;
};

}  // namespace podgpu
