// The question of a request for /api/v1/history, and the PromQL that answers it: the activity of
// one GPU, of the nodes of a group, or of all GPUs.
//
// Each GPU has the first of these that is known: SM activity, utilisation, activity of its MIG
// instances.  The families are podgpu's own and those of dcgm-exporter under the names of each
// release.  A GPU is identified as in prometheus_answer.h: by `UUID`, otherwise `uuid`, otherwise
// `instance` and `gpu`.  Names come from users and nodes, so each is quoted for PromQL.  Pure
// functions; called on the HTTP thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster_facts.h"

namespace podgpu {

struct HistoryQuery {
  std::string node;  // With `gpu`: the question is about one GPU of this node.
  std::optional<uint32_t> gpu;
  // With `value`: the question is about the nodes with this label.
  std::optional<std::string> label;
  std::string value;
  // The same text for equal queries.
  std::string key() const;
};
// Parses "node=gpu-node-1&gpu=3", "group=pool&value=a", or "" for all GPUs; the text is
// percent-encoded. kInvalidArgument with one line.
StatusOr<HistoryQuery> ParseHistoryQuery(std::string_view query);

// Returns the PromQL; `matchers` are added to each selector.  kNotFound if there is no such GPU or
// group.  kResourceExhausted if the group has too many nodes for one query.
StatusOr<std::string> HistoryPromql(const HistoryQuery& query, const ClusterFacts& facts,
                                    std::string_view matchers);

}  // namespace podgpu
