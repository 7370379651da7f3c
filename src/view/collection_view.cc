#include "view/collection_view.h"

#include <algorithm>
#include <optional>

#include "exposition/labels.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

Family IntervalFamily() {
  return {"podgpu_collection_interval_seconds",
          "How often the fields of a collection of --config-file are sampled.", "gauge", "seconds"};
}

Family AgeFamily() {
  return {"podgpu_collection_age_seconds",
          "Age of the oldest value on the page of a collection of --config-file; absent while it "
          "has no value.",
          "gauge", "seconds"};
}

Value InSeconds(milliseconds time) {
  return Value::OfDouble(std::chrono::duration<double>(time).count());
}

// The time stamp of an XID is that of the event, so its age says nothing about the samples.
std::optional<milliseconds> OldestIn(const FieldCollection& collection, const Grid& grid) {
  std::optional<milliseconds> oldest;
  for (const uint16_t field : collection.fields) {
    const std::optional<FieldRow> row = grid.RowOf(field);
    if (!row || field == field_ids::kXid) {
      continue;
    }
    for (const Value& value : grid.CellsOf(*row)) {
      if (value.present()) {
        oldest = std::max(oldest.value_or(milliseconds(0)), milliseconds(value.age_ms()));
      }
    }
  }
  return oldest;
}

}  // namespace

std::vector<FamilyDoc> CollectionFamilies() {
  return {{IntervalFamily(), "collection"}, {AgeFamily(), "collection"}};
}

uint32_t CollectionSlotCount(const FieldCollections& collections) {
  return static_cast<uint32_t>(2 * collections.size());
}

void AddCollections(const FieldCollections& collections, uint32_t first_slot, PlanBuilder& plan) {
  if (collections.empty()) {
    return;
  }
  for (Family family : {IntervalFamily(), AgeFamily()}) {
    plan.BeginFamily(std::move(family));
    for (const FieldCollection& collection : collections) {
      plan.AddSeries(plan.AddLabels(RenderLabels({{"collection", collection.name}})),
                     NumberSource::Slot(first_slot++));
    }
  }
}

void AppendCollections(const FieldCollections& collections, const Grid& grid,
                       milliseconds since_read, std::vector<Value>& slots) {
  for (const FieldCollection& collection : collections) {
    slots.push_back(InSeconds(collection.interval));
  }
  for (const FieldCollection& collection : collections) {
    const std::optional<milliseconds> oldest = OldestIn(collection, grid);
    slots.push_back(oldest ? InSeconds(*oldest + since_read) : Value::OfAbsence(Absence::kNoData));
  }
}

}  // namespace podgpu
