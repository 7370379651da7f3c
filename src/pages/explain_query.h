// The question that a request for an explanation asks.
//
// It comes from anybody who reaches the port, so what is not understood is refused in one line.
// Pure; the HTTP thread calls it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// What is asked about; all devices where nothing is said.
struct ExplainQuery {
  std::optional<uint32_t> gpu;              // gpu=3
  std::optional<uint32_t> gpu_instance_id;  // GPU_I_ID=7
  std::string uuid;                         // UUID=GPU-..., also of a MIG device
  std::string pod_namespace, pod;           // pod=namespace/name
  std::string metric;                       // metric=DCGM_FI_DEV_GPU_TEMP
};

// Of "gpu=3&metric=...", percent-encoded.  kInvalidArgument with a line that names the parameters
// there are.
StatusOr<ExplainQuery> ParseExplainQuery(std::string_view query);

}  // namespace podgpu
