// A family of the cluster role about itself: a row of the tables in cluster_facts.cc and
// metrics_api_rows.cc.
//
// For these two files only: the families and their numbers are made from one row, so they cannot
// differ. Plain data.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cluster/cluster_facts.h"

namespace podgpu {

using FactLabels = std::vector<std::vector<Label>>;

struct ClusterRow {
  std::string_view name, type, unit, help;
  FactLabels (*labels)(const ClusterFacts& facts);
  // Appends one value for each of `labels`.
  void (*write)(const ClusterFacts& facts, std::vector<Value>& slots);
};

// The families about the metrics API; without it they have no lines.
std::span<const ClusterRow> MetricsApiRows();

}  // namespace podgpu
