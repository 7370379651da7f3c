// Determines the owners on the DCGM rows of a device: pods, batch jobs, and containers outside
// Kubernetes, as labels.
//
// dcgm-exporter has one row per device.  A shared device has copies of the row: one per job, one
// per container outside Kubernetes, one per container that has the device by a claim, and with
// virtual GPUs one per container and replica.  The copies have the number of the device.  The two
// fields that can be measured per pod (IsPerPodField) are different: the device keeps its own row,
// and each pod has a row with its own number.  Borrows the input; used on the tick thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "view/view.h"

namespace podgpu {

using Attributes = std::map<std::string, std::string>;  // std::string orders by bytes.

// The label names that dcgm-exporter 2.0 changed (`use_old_namespace`: the older names).
struct LabelNames {
  const char* uuid;
  const char* pod;
  const char* pod_namespace;
  const char* container;
};

// The owner part of one row of a device.
struct RowOwner {
  Attributes attributes;
  // The metrics that have this row.
  enum class Metrics : uint8_t { kAll, kPerPod, kNotPerPod } metrics = Metrics::kAll;
  // Set with virtual GPUs: one of the pods that share the device.  In rows of per-pod fields the
  // number is the pod's own.
  const Owner* pod = nullptr;
};

class RowOwners {
 public:
  explicit RowOwners(const ViewInput& input);

  const LabelNames& names() const { return names_; }

  // Returns the rows of `device`, a GPU or instance; one row without attributes if it has no owner.
  std::vector<RowOwner> Of(EntityId device) const;

  // Returns `labels` with the labels of the pod that has `device`.  A pod label whose name is
  // already on the row is left out: a label name must not occur twice.
  Attributes WithPodLabels(Attributes labels, EntityId device) const;

 private:
  std::vector<RowOwner> PodsOf(EntityId device) const;
  std::vector<RowOwner> SharersOf(const std::vector<Owner>& owners) const;
  std::vector<RowOwner> ClaimantsOf(const std::vector<Owner>& owners) const;
  Attributes AttributesOf(const Owner& owner) const;
  const std::vector<Owner>& OwnersOf(EntityId device) const;
  bool IsReserved(const std::string& name) const;

  const ViewInput& input_;
  LabelNames names_;
};

// Returns whether rows of `field_id` have per-pod numbers with virtual GPUs: utilisation (203) and
// used memory (252), as in dcgm-exporter.
bool IsPerPodField(uint16_t field_id);

}  // namespace podgpu
