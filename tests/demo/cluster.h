// The demo of the cluster role: three simulated nodes, podgpu on each, and podgpu cluster over
// them.
//
// What the map says is compared with the scenarios.  One thread.
#pragma once

#include "tests/demo/setting.h"

namespace podgpu::demo {

// The exit code of the program.
int RunCluster(Setting setting);

}  // namespace podgpu::demo
