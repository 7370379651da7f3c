#include "cluster/fleet_groups.h"

namespace podgpu {

FleetGroups::FleetGroups(const NodeLabels* labels) : labels_(labels) {
  groups_.resize(labels == nullptr ? 0 : labels->keys.size());
}

void FleetGroups::AddNode(std::string_view name) {
  if (groups_.empty()) {
    return;
  }
  const auto node = labels_->of_node.find(name);
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (node == labels_->of_node.end()) {
      groups_[i].node.Add("null");
      continue;
    }
    const std::optional<std::string>& value = node->second[i];  // The table refers to its text.
    if (value) {
      groups_[i].node.AddNumber(static_cast<int64_t>(groups_[i].names.IndexOf(*value)));
    } else {
      groups_[i].node.Add("null");
    }
  }
}

void FleetGroups::WriteTo(JsonObject& fleet) const {
  if (groups_.empty()) {
    return;
  }
  JsonColumn groups;
  for (size_t i = 0; i < groups_.size() && labels_->is_known; ++i) {
    JsonColumn names;
    for (const std::string_view name : groups_[i].names.names()) {
      names.AddText(name);
    }
    JsonObject group;
    group.Add("label", JsonText(labels_->keys[i]));
    group.Add("names", names.Whole());
    group.Add("node", groups_[i].node.Whole());
    groups.Add(group.Whole());
  }
  fleet.Add("groups", groups.Whole());
  if (!labels_->detail.empty()) {
    fleet.Add("groups_absent", JsonText(labels_->detail));
  }
}

}  // namespace podgpu
