// Parses the query of a request for an explanation.
//
// Any client that reaches the port can send one, so a query that is not understood is refused with
// one line that names the remedy.  Pure; called on the HTTP thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Selects devices; an empty query selects all.
struct ExplainQuery {
  std::optional<uint32_t> gpu;              // gpu=3
  std::optional<uint32_t> gpu_instance_id;  // GPU_I_ID=7
  std::string uuid;                         // UUID=GPU-..., also of a MIG device
  std::string pod_namespace, pod;           // pod=namespace/name
  std::string metric;                       // metric=DCGM_FI_DEV_GPU_TEMP
};

// Parses "gpu=3&metric=...", percent-encoded.  kInvalidArgument with one line that names the valid
// parameters.
StatusOr<ExplainQuery> ParseExplainQuery(std::string_view query);

}  // namespace podgpu
