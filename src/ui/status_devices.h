// The table of GPUs of the page `/`: a row per GPU, and below it a row per owner that shares it or
// per MIG instance.
//
// A part of status_page.h, with the same rules.  Pure functions; called on the HTTP thread.
#pragma once

#include <cstdint>
#include <string>

#include "report/node_status.h"

namespace podgpu {

// Appends the table, and a folded one with the model, UUID and PCI address of each GPU.  Requires
// GPUs.
void AppendDevices(const NodeStatus& status, int64_t now_ms, std::string& page);

}  // namespace podgpu
