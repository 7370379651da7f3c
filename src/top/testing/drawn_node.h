// The node of docs/top.md, as data: eight H100, one lost, one degraded, one idle, one shared.
//
// For tests: frames of it are compared with the captures in tests/golden/top.  Pure.
#pragma once

#include "report/node_status.h"

namespace podgpu {

inline constexpr int64_t kDrawnNowMs = 1'700'057'002'000;  // 2023-11-15 14:03:22 UTC.

NodeStatus DrawnNode();

}  // namespace podgpu
