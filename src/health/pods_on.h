// Names the pods that hold some GPUs, for log lines.
//
// A line names three pods and counts the others, so that its length has a limit.  Pure; called on
// the tick thread.
#pragma once

#include <string>

#include "facts/tick_facts.h"

namespace podgpu {

// Returns for example "ns/a,ns/b and 2 more": the pods that hold these GPUs of the newest reading,
// or instances of them.  "none" when no pod does; "not known" while the kubelet gives no usable
// answer.
std::string PodsOn(const TickFacts& facts, const GpuSet& gpus);

}  // namespace podgpu
