// Shared by tests and the benchmark of the window: its options, and reports with GPUs and holders.
//
// For tests only; plain functions.
#pragma once

#include <string>
#include <vector>

#include "metrics_api/values/use_window.h"

namespace podgpu {

// A workload is the pod's name up to its last dash; in use means that the share is not zero.
WindowOptions TestWindowOptions();

// A GPU that these pods of the namespace hold: "ml/llm-1".
ReportedGpu TestGpu(const std::string& uuid, const std::vector<std::string>& pods);

void SetUse(DeviceUse& use, UseMeasure measure, double value, uint32_t age_ms = 0);

WindowNode TestNode(const std::string& name, std::vector<ReportedGpu> gpus, int64_t read_ms);

}  // namespace podgpu
