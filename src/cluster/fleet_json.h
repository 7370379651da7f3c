// The JSON of /api/v1/fleet: every GPU of every node, with its holders and its activity.
//
// It has columns and tables of names, so 40,000 GPUs take about one megabyte; docs/api.md describes
// the format.  Times are absolute, so the bytes change only when a node has been read.  The JSON is
// made on request from the facts of the last tick, once for all equal requests.  Used on one
// thread, the HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/cluster_facts.h"
#include "ui/document.h"

namespace podgpu {

// Returns the JSON of all GPUs in `facts`; with a namespace, only the GPUs that its pods hold and
// their nodes.
std::string FleetJson(const ClusterFacts& facts, std::string_view pod_namespace = {});

class FleetDocuments {
 public:
  // `facts` must not be null.
  std::shared_ptr<Document> Of(const std::shared_ptr<const ClusterFacts>& facts,
                               std::string_view pod_namespace);

 private:
  std::shared_ptr<const ClusterFacts> facts_;  // The facts that the documents were made from.
  std::map<std::string, std::shared_ptr<Document>, std::less<>> by_namespace_;
};

// Returns NAME of "namespace=NAME"; empty for all namespaces. kInvalidArgument for an unknown
// parameter or an invalid namespace name.
StatusOr<std::string_view> ParseFleetQuery(std::string_view query);

}  // namespace podgpu
