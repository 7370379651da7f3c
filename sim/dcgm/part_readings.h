// The fields of switches, their links, CPUs and cores: the second table of readings.
//
// Same rows and rules as values.h.  Traffic through a port is that of the GPU's link at its other
// end, seen from the switch.  The load of a core is a fixed part of the activity of one GPU, so a
// page can be compared with the world.  Part of the face: standard library only.
#pragma once

#include "sim/dcgm/values.h"

namespace podgpu::sim {

// The row of a field, or null when the world does not model it.
const ReadingRow* FindPartReading(uint16_t field);

}  // namespace podgpu::sim
