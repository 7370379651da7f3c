// How podgpu says how it is: the state of each part, in the only state words there are, with the
// reason beside it.
//
// The tick makes a Condition from what the other threads publish; the status page, /readyz and the
// log read it.  Plain data, immutable once published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/part_state.h"

namespace podgpu {

// One part of the exporter: its source of device values, the kubelet, its configuration.
struct PartCondition {
  std::string part;  // "driver", "kubelet", "config"
  PartState state = PartState::kStarting;
  std::string
      detail;  // One plain sentence without a full stop: what is, where, what happens meanwhile.
  bool operator==(const PartCondition&) const = default;
};

// One line of the device table.
struct DeviceCondition {
  uint32_t gpu_id = 0;
  std::string state;  // DeviceState word
  std::string uuid, model, pci_bus_id;
  std::string owners;  // "research/llama-train-0", "4 pods, shared", "free", "not known: ..."
  bool operator==(const DeviceCondition&) const = default;
};

struct Condition {
  bool ready = false;
  std::string verdict;  // "ready: 8 of 8 GPUs have fresh samples", or what is missing.
  std::vector<PartCondition> parts;
  std::vector<DeviceCondition> devices;
  bool operator==(const Condition&) const = default;
};

}  // namespace podgpu
