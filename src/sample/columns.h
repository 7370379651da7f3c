// On which columns a field can be read.
//
// dcgm-exporter's filter: fields of links are asked of switches
// too, those of cores of CPUs; what belongs to the host or to GPUs is asked of GPUs and instances.
// Rows of the grid, the watches and the views all follow from here.  Pure functions; any thread.
#pragma once

#include <vector>

#include "fields/field.h"
#include "topology/topology.h"

namespace podgpu {

// The columns of `topology` on which fields of `level` can be read.
ColumnRange ColumnsFor(FieldLevel level, const Topology& topology);

// Whether fields of `level` are read on parts of `kind`.
bool IsReadOn(FieldLevel level, PartKind kind);

// Whether fields of `level` are read on any part, and so not on GPUs.
bool IsPartLevel(FieldLevel level);

// The kinds of part on which any of `fields` is read.
PartKinds PartsFor(const std::vector<const Field*>& fields);

}  // namespace podgpu
