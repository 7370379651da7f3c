// Statuses of made-up nodes, for the tests of the page `/`.
//
// Each is complete: the numbers of its owners add up to those of their GPU.  Times are relative to
// kSampleNowMs.  Pure functions.
#pragma once

#include <string>

#include "report/node_status.h"

namespace podgpu::testing {

inline constexpr int64_t kSampleNowMs = 1'800'000'000'000;

NodeStatus HealthyNode();  // Two H100; one works for a pod, one is idle under another.
NodeStatus SharedNode();   // One GPU that two pods share.
NodeStatus MigNode();      // One A100 in MIG mode: an instance with a pod, one without.
NodeStatus FaultyNode();   // One GPU lost, one throttled.
NodeStatus NodeWithoutKubelet();
NodeStatus WaitingNode();  // No driver.
NodeStatus LargeNode();    // Eight shared GPUs, one of them degraded: more rows than stay open.

}  // namespace podgpu::testing
