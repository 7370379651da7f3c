// The groups of nodes in the JSON of /api/v1/fleet: per label of --group-labels a table of its
// values, and for each node the index of its value.
//
// A node without the label, or with a name that the API server does not know, has null.  Borrows
// the labels and its texts from them; used on one thread while an answer is made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/json_columns.h"
#include "cluster/node_labels.h"

namespace podgpu {

class FleetGroups {
 public:
  // Null: without --group-labels.
  explicit FleetGroups(const NodeLabels* labels);

  // Adds the next node of the answer.
  void AddNode(std::string_view name);

  // Adds the key "groups", and "groups_absent" with the reason if no labels are known.
  void WriteTo(JsonObject& fleet) const;

 private:
  struct Group {
    NameTable<std::string_view> names;
    JsonColumn node;
  };

  const NodeLabels* labels_;
  std::vector<Group> groups_;  // One for each of the labels' keys, in their order.
};

}  // namespace podgpu
