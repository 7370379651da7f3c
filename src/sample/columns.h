// The columns of the grid on which a field can be read.
//
// The same filter as dcgm-exporter's: fields of links are also read on switches, fields of cores
// also on CPUs; fields of the host or of GPUs are read on GPUs and instances. Grid rows, watches
// and views all use these functions. Pure functions; any thread.
#pragma once

#include <vector>

#include "fields/field.h"
#include "topology/topology.h"

namespace podgpu {

// Returns the columns of `topology` on which fields of `level` can be read.
ColumnRange ColumnsFor(FieldLevel level, const Topology& topology);

// Returns whether fields of `level` are read on parts of `kind`.
bool IsReadOn(FieldLevel level, PartKind kind);

// Returns whether fields of `level` are read on any part, and therefore not on GPUs.
bool IsPartLevel(FieldLevel level);

// Returns the kinds of part on which any of `fields` is read.
PartKinds PartsFor(const std::vector<const Field*>& fields);

}  // namespace podgpu
