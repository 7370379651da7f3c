// The condition of podgpu: the state of each part, as one of a fixed set of words, and the reason.
//
// The tick makes a Condition from the facts that the other threads publish; the status page,
// /readyz and the log show it.  Plain data, immutable once published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/device_loss.h"
#include "facts/part_state.h"

namespace podgpu {

// One part of the exporter: its source of device values, the kubelet, its configuration.
struct PartCondition {
  std::string part;  // "driver", "kubelet", "config"
  PartState state = PartState::kStarting;
  std::string detail;  // One sentence without a full stop: the fact, the place, and what podgpu
                       // does meanwhile.
  std::string remedy = {};  // Empty where the detail tells it, or none is needed.
  bool operator==(const PartCondition&) const = default;
};

// One line of the device table.
struct DeviceCondition {
  uint32_t gpu_id = 0;
  std::string state;  // DeviceState word
  std::string uuid, model, pci_bus_id;
  std::string owners;  // "research/llama-train-0", "4 pods, shared", "free", "not known: ..."
  DeviceLoss loss = DeviceLoss::kNone;  // Why a GPU that answers is degraded.
  bool operator==(const DeviceCondition&) const = default;
};

struct Condition {
  bool ready = false;
  bool may_pass = false;      // Not ready, and the next reading may bring what is missing.
  bool reads = false;         // Ready, or only devices are the reason why not.
  std::string verdict;        // "ready: 8 GPUs have fresh samples", or what is missing.
  bool owners_known = false;  // The kubelet's last answer is not too old.
  std::vector<PartCondition> parts;
  std::vector<DeviceCondition> devices;
  bool operator==(const Condition&) const = default;
};

}  // namespace podgpu
