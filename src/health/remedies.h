// Why a GPU is in a state or lacks a metric, and what an operator can do about it, in half
// sentences.
//
// The log, the page `/` and the status of the node use the same words.  Pure data; any thread.
#pragma once

#include <string_view>

#include "facts/device_loss.h"
#include "sample/value.h"
#include "topology/topology.h"

namespace podgpu {

// Return the cause of the state, and the remedy; both are empty where the state alone does not
// tell.  `loss` says why a GPU that answers is degraded.
std::string_view CauseOf(DeviceState state, DeviceLoss loss = DeviceLoss::kNone);
std::string_view RemedyOf(DeviceState state, DeviceLoss loss = DeviceLoss::kNone);

// Returns the remedy when a metric of a GPU that works is absent for this reason.
std::string_view RemedyOf(Absence absence);

}  // namespace podgpu
