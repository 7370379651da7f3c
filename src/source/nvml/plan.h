// Which values are read from every NVML device, how, and how often.
//
// The source makes a plan for the fields of the grid; all devices share it.  Fields that NVML
// cannot give have no column.  Values that change rarely or are expensive are read every kSlowEvery
// at the most.  With collections (fields/field_collections.h) each column has a pace.  Immutable;
// any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "fields/field.h"
#include "fields/field_collections.h"
#include "sample/grid.h"
#include "source/nvml/catalogue.h"

namespace podgpu {

inline constexpr std::chrono::seconds kSlowEvery{10};

struct NvmlPlan {
  struct Column {
    FieldRow row;  // Row in the grid.
    NvmlRecipe recipe;
    int64_t lowest = 0;  // The range of the quantity.
    int64_t highest = 0;
    size_t first = 0;  // Index of its first request, or of its GPM metric.
    size_t pace = 0;   // Index of its pace.
  };
  struct Request {
    uint32_t field_id = 0;
    uint32_t scope = 0;
    size_t column = 0;  // Index of the column that needs it.
  };
  std::vector<Column> columns;
  std::vector<Request> requests;  // Field values, read by one call.
  std::vector<uint32_t> metrics;  // GPM's ids.
  // With collections: the times between two readings of a column, and of the device.  Otherwise
  // there are no paces.
  std::vector<std::chrono::milliseconds> paces;
  std::chrono::milliseconds reading_period{0};
};

// Makes the plan for those of `fields` that NVML can give; `fields` are the rows of the grid.
// Fields outside `collections` are read every `period`.
NvmlPlan MakeNvmlPlan(const std::vector<const Field*>& fields, const FieldCollections& collections,
                      std::chrono::milliseconds period);

}  // namespace podgpu
