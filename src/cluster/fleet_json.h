// The JSON of /api/v1/fleet: every GPU of every node, who holds it and how hard it works.
//
// In columns and with tables of names, so that 40,000 GPUs are about a megabyte and a browser reads
// them at once; docs/api.md describes them.  Points in time are civil, so that the bytes change
// only when some node has been read.  Nobody pays for it who does not ask: it is made from the
// facts of the last tick when it is wanted, once for all who ask for the same.  One thread, the
// HTTP thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/cluster_facts.h"
#include "ui/document.h"

namespace podgpu {

// All of `facts`; with a namespace, the GPUs that its pods hold and their nodes.
std::string FleetJson(const ClusterFacts& facts, std::string_view pod_namespace = {});

class FleetDocuments {
 public:
  // `facts` are not null.
  std::shared_ptr<Document> Of(const std::shared_ptr<const ClusterFacts>& facts,
                               std::string_view pod_namespace);

 private:
  std::shared_ptr<const ClusterFacts> facts_;  // What they were made from.
  std::map<std::string, std::shared_ptr<Document>, std::less<>> by_namespace_;
};

// The namespace that "namespace=NAME" asks for; empty for all.  kInvalidArgument for a parameter
// that is not known, or a name that no namespace has.
StatusOr<std::string_view> ParseFleetQuery(std::string_view query);

}  // namespace podgpu
