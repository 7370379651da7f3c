// Keeps a copy of one collection of the API server: this node's pods, its ResourceSlices, one
// ConfigMap, or the pods or EndpointSlices of a namespace that bear some labels.
//
// Follow lists the collection once and then watches it; when a watch ends it goes on from the last
// version seen, so that a change costs its own bytes and a quiet collection costs nothing.  Only a
// version that the server no longer knows (410), or an event that cannot be understood, makes it
// list again.  A list is parsed while it comes, one object at a time, and of the objects of a scope
// only what is needed to find nodes is kept.  A ConfigMap is asked for by its name, since that is
// the one right that dcgm-exporter's chart grants; where it may not be watched, each round asks
// again.  There is no polling.  Memory is bounded: by the size of an event and the number of
// objects. One thread, which blocks in Follow; when to try again is its caller's business
// (refresh/api_refresher.h).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/files.h"
#include "kube/api_connection.h"
#include "kube/api_object.h"
#include "kube/api_server.h"
#include "kube/json_stream.h"

namespace podgpu {

enum class ApiCollection : uint8_t {
  kPods,       // Their metadata alone.
  kWholePods,  // With their containers too.
  kResourceSlices,
  kConfigMap,
  kEndpointSlices,  // Of a scope alone.
};

// The objects of a namespace with some labels, on whatever node.
struct ApiScope {
  std::string name_space;
  std::string labels;  // A selector: "app=podgpu,tier!=test".
};

// How a round of Follow ended.
struct ApiRound {
  Status status;                                    // OK: the server ended the watch in good order.
  std::optional<std::chrono::seconds> retry_after;  // The server asks to be left alone so long.
  // The server no longer knows the last version, which is no failure: the next round lists, and
  // ought to begin at once.
  bool lists_again = false;
  bool was_allowed = false;  // What failed has been granted before.
};

class ApiMirror {
 public:
  // `files` outlives the mirror.
  ApiMirror(ApiServerOptions server, ApiCollection collection, const Files& files);
  ApiMirror(ApiServerOptions server, ConfigMapName config_map, const Files& files);
  // kWholePods or kEndpointSlices.
  ApiMirror(ApiServerOptions server, ApiCollection collection, ApiScope scope, const Files& files);

  // Lists if need be, then watches until the server ends it, something fails or stop is requested.
  // Calls `changed` after the list, when the watch has begun, and when events have changed what the
  // copy says.
  ApiRound Follow(const std::stop_token& stop, const std::function<void()>& changed);

  const ApiObjects& objects() const { return objects_; }
  // Grows with every change of what the copy says.
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
  // What is the same in the copy goes from there to `listed`.
  Status ReadPages(ApiConnection& connection, const std::string& path, ApiRound& round,
                   ApiObjects& listed);
  void TakeListed(ApiObject object, ApiObjects& listed);
  // Reads one page of it into `listed`.
  StatusOr<ApiListHead> ReadPage(ApiConnection& connection, ApiObjects& listed);
  // How much of an object is kept.
  ApiObject Kept(ApiObject object) const;
  Status Watch(ApiConnection& connection, const std::string& path,
               const std::function<void()>& changed, ApiRound& round);
  Status Ask(ApiConnection& connection, const std::string& target, ApiRound& round);
  // Applies the events that have come whole.
  Status ApplyAll(JsonStream& stream);
  Status Apply(ApiEvent event);
  void ForgetVersion() { version_.clear(); }

  const ApiServerOptions server_;
  const ApiCollection collection_;
  const ConfigMapName config_map_;
  const std::optional<ApiScope> scope_;  // Nothing: this node's.
  const Files& files_;
  ApiObjects objects_;
  std::string version_;  // Of the newest thing seen; empty: list first.
  uint64_t revision_ = 0;
  uint64_t requests_ = 0;
  bool has_listed_ = false;  // Since the start, as the next.
  bool has_watched_ = false;
  bool is_listing_again_ = false;  // Since a 410, and nothing has been heard by a watch since.
};

}  // namespace podgpu
