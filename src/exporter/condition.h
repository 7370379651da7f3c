// Judges from the facts of a tick how each part is, and whether the exporter is ready.
//
// Ready means data: the devices answer and their samples are fresh, or the driver answers and there
// is no GPU to read. A lost GPU does not end readiness, since the others are served; a source or
// device that does not answer does. Liveness is none of this (routes.cc).  Pure; the tick thread
// calls it.
#pragma once

#include "exporter/tick_facts.h"
#include "ui/condition.h"

namespace podgpu {

Condition Judge(const TickFacts& facts);

}  // namespace podgpu
