// Parses the parts of the API server's JSON that podgpu needs: names, uids, labels and addresses of
// pods, their containers, the devices of ResourceSlices, the endpoints of EndpointSlices, the
// counter list in a ConfigMap, and the server's error messages.
//
// The rest of an object, often most of it, is dropped during parsing. Strings are valid UTF-8. Pure
// functions; any thread. Field names: kubernetes 1.37, core/v1, meta/v1, discovery.k8s.io/v1 and
// resource.k8s.io/v1 (in v1beta1 the attributes of a device are one level deeper, under "basic").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace podgpu {

// A device of a ResourceSlice with the attributes that identify it; empty if not given.
struct SliceDevice {
  std::string name;  // "gpu-0": the kubelet uses the same name.
  std::string type;  // "gpu" or "mig", with NVIDIA's driver.
  std::string uuid;
  std::string parent_uuid;
  std::string profile;
  bool operator==(const SliceDevice&) const = default;
};

// A TCP port of a container or of an EndpointSlice.
struct ApiPort {
  std::string name;  // May be empty.
  uint16_t number = 0;
  bool operator==(const ApiPort&) const = default;
};

// One endpoint of an EndpointSlice.
struct ApiEndpoint {
  std::string ip;    // Numeric, unless the slice contains names.
  std::string node;  // Empty if not given.
  bool is_ready = true;
  bool operator==(const ApiEndpoint&) const = default;
};

// A container from any of a pod's three lists. Annotations: tkestack/gpu-manager 1.1, Project-HAMi
// 2.8, Volcano 1.10 (vGPU, and its older gpushare), AliyunContainerService/gpushare 1.0.
struct ApiContainer {
  std::string name;
  std::string id;  // The id without the runtime prefix; empty until the container has started.
  // Requests of extended resources ("nvidia.com/gpu"), in the order of the JSON.
  std::vector<std::pair<std::string, uint64_t>> requests;
  // The GPUs that a scheduler of GPU shares chose, by its annotation: indices ("0") of gpu-manager
  // and gpushare, UUIDs of HAMi and Volcano. They take precedence over the kubelet's ids, which
  // such a plugin invents.
  std::vector<std::string> gpus = {};
  bool is_regular = true;  // Neither an init nor an ephemeral container.
  std::vector<ApiPort> ports = {};
  // The whole memory of the chosen GPU in the units in which gpushare counts it; 0: not told.
  uint64_t gpu_memory_units = 0;
  bool operator==(const ApiContainer&) const = default;
};

// A pod, a ResourceSlice, an EndpointSlice or a ConfigMap.
struct ApiObject {
  std::string name_space;  // Empty for a cluster-scoped object.
  std::string name;
  std::string uid;
  std::string resource_version;
  std::vector<std::pair<std::string, std::string>> labels;  // In the order of the JSON.
  // For a pod:
  bool has_ended = false;  // The whole pod has succeeded or failed.
  // For the mirror pod of a static pod: the hash that its cgroups contain in place of the uid.
  std::string config_hash = {};
  std::vector<ApiContainer> containers;
  std::string node = {};  // The node that runs it; empty until known.
  std::string ip = {};
  // For an EndpointSlice:
  std::string address_type = {};  // "IPv4", "IPv6", "FQDN"
  std::vector<ApiEndpoint> endpoints = {};
  std::vector<ApiPort> ports = {};
  // For a ResourceSlice:
  std::string driver;
  std::string pool;
  int64_t pool_generation = 0;
  std::vector<SliceDevice> devices;
  // For a ConfigMap: the text under the key "metrics".
  std::optional<std::string> metrics = std::nullopt;
  // For the same: the texts under the keys by which the API server tells how it authenticates.
  std::map<std::string, std::string> authentication = {};

  // Returns the uid that the cgroups of a pod carry.
  const std::string& cgroup_uid() const { return config_hash.empty() ? uid : config_hash; }
  // Returns whether both have the same content. Versions are not compared, because a change of the
  // status alone makes a new version.
  bool SaysTheSame(const ApiObject& other) const;
};

using ApiObjects = std::map<std::string, ApiObject>;  // By "namespace/name".

// A Status object: the reason of a refusal.
struct ApiFailure {
  int code = 0;
  std::string reason;
  std::string message;
};

// The metadata of a page of a list.
struct ApiListHead {
  std::string resource_version;
  std::string next_page;  // The token to request it; empty on the last page.
};

struct ApiEvent {
  enum class Kind : uint8_t { kPut, kDelete, kBookmark, kError };
  Kind kind = Kind::kBookmark;
  ApiObject object;    // For a bookmark: only its resource_version.
  ApiFailure failure;  // The error, for kError.
};

// All parsers return kDataLoss for other input. Parses a list without its objects, as ListStream
// returns it.
StatusOr<ApiListHead> ParseApiListHead(std::string_view json);
// Parses an object of a list, which may lack a version.
StatusOr<ApiObject> ParseApiItem(std::string_view json);
StatusOr<ApiEvent> ParseApiEvent(std::string_view json);
// Parses a single object: the answer to a request by name.
StatusOr<ApiObject> ParseApiObject(std::string_view json);
// Parses a Status object, or a plain text whose first line becomes the message: an overloaded
// server answers so. Returns an empty failure for HTML and for other objects.
ApiFailure ParseApiFailure(std::string_view json);
// Parses a quantity of an extended resource: "2", or "1k", which is how the server writes 1000.
// Returns nothing for a quantity that is negative, not whole, or above 2^53.
std::optional<uint64_t> ParseQuantity(std::string_view text);
// Parses the versions of an API group ("v1", "v1beta1"), in the server's order.
StatusOr<std::vector<std::string>> ParseApiVersions(std::string_view json);

}  // namespace podgpu
