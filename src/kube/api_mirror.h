// Keeps a copy of one collection of the API server: this node's pods, its ResourceSlices, one
// ConfigMap, the pods or EndpointSlices of a namespace with certain labels, or the cluster's nodes.
//
// Follow lists the collection once and then watches it. When a watch ends, the next one continues
// from the last version, so a change costs only its own bytes and a quiet collection costs nothing.
// It lists again only when the server no longer knows the version (410) or an event cannot be
// parsed. A list is parsed while it arrives, one object at a time; for a scope, only the data
// needed to find nodes is kept. A ConfigMap is requested by its name, because that is the only
// right in dcgm-exporter's chart; if it may not be watched, each call of Follow reads it again.
// There is no other polling. Memory is limited by the size of an event and the number of objects.
// One thread, which blocks in Follow; the caller decides when to retry (refresh/api_refresher.h).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "kube/api_connection.h"
#include "kube/api_object.h"
#include "kube/api_server.h"
#include "kube/json_stream.h"

namespace podgpu {

enum class ApiCollection : uint8_t {
  kPods,       // Only the metadata of pods.
  kWholePods,  // Pods with their containers.
  kResourceSlices,
  kConfigMap,
  kEndpointSlices,  // Only with a scope.
  kNodes,           // Only with a scope; metadata only.
};

// The objects of a namespace with certain labels, on any node.
struct ApiScope {
  std::string name_space;  // Empty: of all namespaces, or not in a namespace.
  std::string labels;      // A selector: "app=podgpu,tier!=test"; empty: all.
  // For nodes: only these labels are kept.
  std::vector<std::string> kept_labels = {};
};

// Is called with each object that is new or changed, and with null when one is gone.
using ApiObserver = std::function<void(const std::string& key, const ApiObject* now)>;

// Result of one call of Follow.
struct ApiRound {
  Status status;                                    // OK: the server ended the watch normally.
  std::optional<std::chrono::seconds> retry_after;  // The server asks the client to wait so long.
  // The server no longer knows the last version. This is not a failure: the next call lists, and
  // should start at once.
  bool lists_again = false;
  bool was_allowed = false;  // The failed request has succeeded before.
};

class ApiMirror {
 public:
  // `files` outlives the mirror.
  ApiMirror(ApiServerOptions server, ApiCollection collection, const Files& files);
  ApiMirror(ApiServerOptions server, ConfigMapName config_map, const Files& files);
  // Any collection but kResourceSlices and kConfigMap.
  ApiMirror(ApiServerOptions server, ApiCollection collection, ApiScope scope, const Files& files);

  // Lists if needed, then watches until the server ends the watch, a failure occurs, or stop is
  // requested. Calls `changed` after the list, when the watch has begun, and when events have
  // changed the copy.
  ApiRound Follow(const std::stop_token& stop, const std::function<void()>& changed);

  // `observer` is called from Follow with every change of the copy, before `changed`. Set it before
  // the first Follow.
  void Observe(ApiObserver observer) { observer_ = std::move(observer); }

  const ApiObjects& objects() const { return objects_; }
  // Grows with every change of the copy.
  uint64_t revision() const { return revision_; }
  // GET requests sent since the start.
  uint64_t requests() const { return requests_; }

 private:
  Status FollowOnce(const std::stop_token& stop, const std::function<void()>& changed,
                    ApiRound& round);
  StatusOr<std::string> PathOf(ApiConnection& connection, ApiRound& round);
  std::string_view what() const;
  std::string Selector() const;
  std::string RightsWanted() const;
  size_t MostObjects() const;
  Status GetConfigMap(ApiConnection& connection, const std::string& path, ApiRound& round);
  Status List(ApiConnection& connection, const std::string& path, ApiRound& round);
  // Moves unchanged objects from the copy to `listed`.
  Status ReadPages(ApiConnection& connection, const std::string& path, ApiRound& round,
                   ApiObjects& listed);
  void TakeListed(ApiObject object, ApiObjects& listed);
  // Reads one page into `listed`.
  StatusOr<ApiListHead> ReadPage(ApiConnection& connection, ApiObjects& listed);
  // Returns the part of an object that is kept.
  ApiObject Kept(ApiObject object) const;
  Status Watch(ApiConnection& connection, const std::string& path,
               const std::function<void()>& changed, ApiRound& round);
  Status Ask(ApiConnection& connection, const std::string& target, ApiRound& round);
  // Applies all complete events.
  Status ApplyAll(JsonStream& stream);
  Status Apply(ApiEvent event);
  void ForgetVersion() { version_.clear(); }

  const ApiServerOptions server_;
  const ApiCollection collection_;
  const ConfigMapName config_map_;
  const std::optional<ApiScope> scope_;  // Absent: this node's objects.
  const Files& files_;
  ApiObjects objects_;
  ApiObserver observer_;  // May be empty.
  std::string version_;   // Version of the newest object or bookmark; empty: list first.
  uint64_t revision_ = 0;
  uint64_t requests_ = 0;
  bool has_listed_ = false;  // A list has succeeded since the start.
  bool has_watched_ = false;
  bool is_listing_again_ = false;  // Listed after a 410; no watch has answered since.
};

}  // namespace podgpu
