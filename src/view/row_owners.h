// Who stands on the DCGM rows of a device: pods and batch jobs, as labels.
//
// dcgm-exporter has one row per device, and copies of it where a device is shared: one per job, one
// per container that has it by a claim, and with virtual GPUs one per container and replica. Copies
// carry the device's number, but for the two fields that can be told apart by pod (IsPerPodField):
// there the device keeps a row of its own and each pod has one with its own number.  Pure; borrows
// the input; the tick thread uses it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "view/view.h"

namespace podgpu {

using Attributes = std::map<std::string, std::string>;  // std::string orders by bytes.

// The names of labels that changed with dcgm-exporter's 2.0 (`use_old_namespace`: the ones before).
struct LabelNames {
  const char* uuid;
  const char* pod;
  const char* pod_namespace;
  const char* container;
};

// One row of a device, as far as it is about owners.
struct RowOwner {
  Attributes attributes;
  // Which metrics have this row.
  enum class Metrics : uint8_t { kAll, kPerPod, kNotPerPod } metrics = Metrics::kAll;
  // With virtual GPUs: one of the pods that share the device.  Its rows of per-pod fields have the
  // pod's number.
  const Owner* pod = nullptr;
};

class RowOwners {
 public:
  explicit RowOwners(const ViewInput& input);

  const LabelNames& names() const { return names_; }

  // The rows of `device`, a GPU or instance; one without attributes where it has no owner.
  std::vector<RowOwner> Of(EntityId device) const;

  // With the labels of the pod that has `device`.  What is on the row already keeps its name: a pod
  // label that would take it is left out, since no name may stand twice on a row.
  Attributes WithPodLabels(Attributes labels, EntityId device) const;

 private:
  std::vector<RowOwner> PodsOf(EntityId device) const;
  std::vector<RowOwner> SharersOf(const std::vector<Owner>& owners) const;
  std::vector<RowOwner> ClaimantsOf(const std::vector<Owner>& owners) const;
  Attributes AttributesOf(const Owner& owner) const;
  const std::vector<Owner>& OwnersOf(EntityId device) const;
  const std::vector<std::string>& JobsOf(EntityId device) const;
  bool IsReserved(const std::string& name) const;

  const ViewInput& input_;
  LabelNames names_;
};

// Whether `field_id` is told apart by pod where virtual GPUs are asked for: utilisation (203) and
// used memory (252), as in dcgm-exporter.
bool IsPerPodField(uint16_t field_id);

}  // namespace podgpu
