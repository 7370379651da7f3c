// The answers of /api/v1/fleet, made once per reading of the nodes and shared by all clients.
//
// A client that names the epoch of its last answer gets the delta (fleet_json.h) while the tables
// are those of that epoch, otherwise the whole answer.  Both have the same ETag, because a client
// with the tables learns the same from both; so an unchanged fleet costs a 304 after either.  Made
// on request from the facts of the last tick.  Used on one thread, the HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/cluster_facts.h"
#include "cluster/fleet_links.h"
#include "ui/document.h"

namespace podgpu {

// The parameters of a request: "namespace=research&epoch=0123456789abcdef".
struct FleetQuery {
  std::string_view pod_namespace = {};  // Empty: all.
  std::string_view epoch = {};          // Epoch of the client's last answer; empty: it has none.
};
// The texts are borrowed from `query`. kInvalidArgument for an unknown parameter or an invalid
// value.
StatusOr<FleetQuery> ParseFleetQuery(std::string_view query);

class FleetDocuments {
 public:
  explicit FleetDocuments(FleetLinks links = {}) : links_(std::move(links)) {}

  // `facts` must not be null.
  std::shared_ptr<Document> Of(const std::shared_ptr<const ClusterFacts>& facts,
                               const FleetQuery& query);

 private:
  struct Forms {
    std::string epoch;
    std::shared_ptr<Document> whole, delta;
  };
  Forms Make(std::string_view pod_namespace) const;

  FleetLinks links_;
  std::shared_ptr<const ClusterFacts> facts_;  // The facts that the documents were made from.
  std::map<std::string, Forms, std::less<>> by_namespace_;
};

}  // namespace podgpu
