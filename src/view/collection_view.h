// The families about collections: fields with a sampling interval of their own.
//
// A slow collection repeats its last values between two samples, so the page says how old they are.
// The lines refer to slots, whose numbers the tick appends each time: the intervals, then the ages.
// Pure functions; called on the tick thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "exposition/series_plan.h"
#include "fields/field_collections.h"
#include "sample/grid.h"
#include "sample/value.h"
#include "view/family_doc.h"

namespace podgpu {

std::vector<FamilyDoc> CollectionFamilies();

// The number of slots: two for each collection.
uint32_t CollectionSlotCount(const FieldCollections& collections);

// Adds the lines; their slots begin at `first_slot`.
void AddCollections(const FieldCollections& collections, uint32_t first_slot, PlanBuilder& plan);

// Appends the numbers in seconds.  The age of a collection is that of its oldest value in `grid`,
// `since_read` after the reading; it is absent while the collection has no value.
void AppendCollections(const FieldCollections& collections, const Grid& grid,
                       std::chrono::milliseconds since_read, std::vector<Value>& slots);

}  // namespace podgpu
