// Writes numbers as quantities of the Kubernetes API: whole numbers as digits, others in
// thousandths, "45500m".
//
// The autoscaler computes in thousandths, so more digits have no effect. Pure function; any thread.
#pragma once

#include <string>

namespace podgpu {

// `number` is finite; its size is at most 9e15, beyond which the result is that limit.
std::string FormatQuantity(double number);

}  // namespace podgpu
