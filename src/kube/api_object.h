// What podgpu reads of the API server's JSON: names, uids, labels and addresses of pods, their
// containers, the devices of ResourceSlices, the endpoints of EndpointSlices, the list of metrics
// in a ConfigMap, and the server's own words about failures.
//
// Everything else in an object (often most of it) is dropped while it is parsed.  Strings are valid
// UTF-8.  Pure functions; any thread.  Field names: kubernetes 1.37, core/v1, meta/v1,
// discovery.k8s.io/v1 and resource.k8s.io/v1 (in v1beta1 a device's attributes stand one level
// deeper, under "basic").
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

// A device of a ResourceSlice with the attributes that tell which one it is; empty where not given.
struct SliceDevice {
  std::string name;  // "gpu-0", as the kubelet calls it.
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
  std::string ip;    // In numbers, unless the slice is one of names.
  std::string node;  // Empty where it is not said.
  bool is_ready = true;
  bool operator==(const ApiEndpoint&) const = default;
};

// A container of a pod, of any of its three lists.  Annotations: tkestack/gpu-manager 1.1 and
// Project-HAMi 2.8.
struct ApiContainer {
  std::string name;
  std::string id;  // Without the runtime before it; empty until the container has begun.
  // Of extended resources ("nvidia.com/gpu"), in the order of the JSON.
  std::vector<std::pair<std::string, uint64_t>> requests;
  // The GPUs that a scheduler of shares gave it, by its annotation: indices ("0") of gpu-manager,
  // UUIDs of HAMi.  They stand above what the kubelet says, whose ids such a plugin makes up.
  std::vector<std::string> gpus = {};
  bool is_regular = true;  // Neither of those that initialise nor of those that debug.
  std::vector<ApiPort> ports = {};
  bool operator==(const ApiContainer&) const = default;
};

// A pod, a ResourceSlice, an EndpointSlice or a ConfigMap.
struct ApiObject {
  std::string name_space;  // Empty for what belongs to the cluster.
  std::string name;
  std::string uid;
  std::string resource_version;
  std::vector<std::pair<std::string, std::string>> labels;  // In the order of the JSON.
  // Of a pod:
  bool has_ended = false;  // Succeeded or failed as a whole.
  // Of the mirror of a static pod: what its cgroups have in place of the uid.
  std::string config_hash = {};
  std::vector<ApiContainer> containers;
  std::string node = {};  // Where it runs; empty until that is known, as the next.
  std::string ip = {};
  // Of an EndpointSlice:
  std::string address_type = {};  // "IPv4", "IPv6", "FQDN"
  std::vector<ApiEndpoint> endpoints = {};
  std::vector<ApiPort> ports = {};
  // Of a ResourceSlice:
  std::string driver;
  std::string pool;
  int64_t pool_generation = 0;
  std::vector<SliceDevice> devices;
  // Of a ConfigMap: the text under the key "metrics".
  std::optional<std::string> metrics = std::nullopt;

  // Whether both say the same; versions are not compared, since a status alone makes a new one.
  bool SaysTheSame(const ApiObject& other) const;
};

using ApiObjects = std::map<std::string, ApiObject>;  // By "namespace/name".

// A Status object: why the server refuses.
struct ApiFailure {
  int code = 0;
  std::string reason;
  std::string message;
};

// What a page of a list says beside its objects.
struct ApiListHead {
  std::string resource_version;
  std::string next_page;  // The token that asks for it; empty on the last.
};

struct ApiEvent {
  enum class Kind : uint8_t { kPut, kDelete, kBookmark, kError };
  Kind kind = Kind::kBookmark;
  ApiObject object;    // Of a bookmark: its resource_version alone.
  ApiFailure failure;  // Of an error.
};

// kDataLoss when the text is not what it ought to be.
// A list without its objects, as ListStream leaves it.
StatusOr<ApiListHead> ParseApiListHead(std::string_view json);
// An object of a list, which need not have a version of its own.
StatusOr<ApiObject> ParseApiItem(std::string_view json);
StatusOr<ApiEvent> ParseApiEvent(std::string_view json);
// A single object, as the answer to a question for it by name.
StatusOr<ApiObject> ParseApiObject(std::string_view json);
// What can be read of a Status object, else of a plain text, whose first line is the message: a
// server that is overloaded answers so.  An empty failure for HTML and any other object.
ApiFailure ParseApiFailure(std::string_view json);
// A quantity of an extended resource: "2", or "1k" as the server writes 1000.  Nothing for one that
// is negative, no whole number or beyond 2^53.
std::optional<uint64_t> ParseQuantity(std::string_view text);
// The versions of an API group ("v1", "v1beta1"), in the order of the server.
StatusOr<std::vector<std::string>> ParseApiVersions(std::string_view json);

}  // namespace podgpu
