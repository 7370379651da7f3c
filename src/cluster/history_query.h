// What /api/v1/history is asked for, and the PromQL that finds it: the activity of one GPU, of the
// nodes of a group, or of all GPUs.
//
// The series are those of dcgm-exporter, which podgpu has as well: SM activity where it is known,
// otherwise utilisation.  Names come from users and nodes, so each is quoted for PromQL.  Pure
// functions; called on the HTTP thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster_facts.h"

namespace podgpu {

struct HistoryQuery {
  std::string node;  // With `gpu`: one GPU.
  std::optional<uint32_t> gpu;
  std::optional<std::string> label;  // With `value`: the nodes with this label.
  std::string value;
  // The same text for equal queries.
  std::string key() const;
};
// "node=gpu-node-1&gpu=3", "group=pool&value=a", or "" for all GPUs; percent-encoded.
// kInvalidArgument with one line.
StatusOr<HistoryQuery> ParseHistoryQuery(std::string_view query);

// Returns the PromQL; `matchers` are added to each selector.  kNotFound if there is no such GPU or
// group.  kResourceExhausted if the group has too many nodes for one query.
StatusOr<std::string> HistoryPromql(const HistoryQuery& query, const ClusterFacts& facts,
                                    std::string_view matchers);

}  // namespace podgpu
