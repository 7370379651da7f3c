// The containers of a container runtime outside Kubernetes, and the GPUs that each was given.
//
// For Docker and everything that answers like it (Podman).  The list of running containers gives
// ids and names; the details of a container say which devices its user asked for, and these never
// change while it exists.  Pure functions: JSON in, devices out; the refresher
// (refresh/container_refresher.h) asks the runtime.  Forms of the answers: Docker Engine API 1.41,
// and what Docker 20.10 and Podman 4.3 were seen to answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "topology/topology.h"

namespace podgpu {

struct RuntimeContainer {
  std::string id;                         // Hexadecimal digits.
  std::string name;                       // A label value, as ContainerLabel makes it.
  std::vector<std::string> devices = {};  // "0", "GPU-...", "MIG-...", "nvidia0" or "all".
  bool operator==(const RuntimeContainer&) const = default;
};

struct RuntimeContainers {
  std::vector<RuntimeContainer> containers;  // Those with devices, sorted by name.
  std::vector<std::string> complaints = {};  // One sentence per container that cannot be read.
  bool operator==(const RuntimeContainers&) const = default;
};

// A name is a label value on each row of a device, and a container may ask for any devices: limits.
inline constexpr size_t kLongestContainerName = 128;  // In bytes, as in dcgm-exporter.
inline constexpr size_t kMostDevicesPerContainer = 256;
inline constexpr size_t kMostContainersPerDevice = 256;

// Returns the running containers in the order of the answer, without their devices.  The answer of
// GET /containers/json; kDataLoss if it is not a list of containers.
StatusOr<std::vector<RuntimeContainer>> ParseContainerList(std::string_view json);

// Returns the devices of one container, each once.  The answer of GET /containers/ID/json;
// kDataLoss if it is not an object, kResourceExhausted if it has too many devices.
//
// A request for NVIDIA's devices (--gpus) and a device file (--device /dev/nvidia0) name them.
// Without either the variable NVIDIA_VISIBLE_DEVICES does, if the container's runtime reads it:
// NVIDIA's, or Podman's ("oci"), whose hook may.  Images of CUDA set it to "all", and others give
// such a container no GPU.
StatusOr<std::vector<std::string>> ParseContainerDevices(std::string_view json);

// Returns the value of the label: the name without its first slash, each control character
// replaced by "_", cut to kLongestContainerName bytes; the first 12 characters of the id if there
// is no name.
std::string ContainerLabel(std::string_view name, std::string_view id);

// The containers of each entity, by name, and one sentence per device that matches none or has too
// many.  A whole GPU brings its MIG instances: the runtime mounts them with it.  The device file of
// a GPU in MIG mode names none of them, since each container with one of its instances has it.
struct ContainersByEntity {
  std::vector<std::vector<std::string>> by_entity;
  std::vector<std::string> unmatched;
};
ContainersByEntity MatchContainers(const Topology& topology, const RuntimeContainers& containers);

// Returns the file that is mounted as /etc/hostname by `mountinfo` (/proc/self/mountinfo); empty if
// none is.  Docker and Podman mount one from a folder named after the id of the container: the
// reader's own, or that of the container whose network it shares.
std::string HostnameFile(std::string_view mountinfo);

}  // namespace podgpu
