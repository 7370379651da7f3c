// The demo of the cluster role: three simulated nodes with podgpu on each, and podgpu cluster.
//
// Compares the map with the scenarios.  One thread.
#pragma once

#include "tests/demo/setting.h"

namespace podgpu::demo {

// The exit code of the program.
int RunCluster(Setting setting);

}  // namespace podgpu::demo
