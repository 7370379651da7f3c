// All values of one reading: a row per field, a column per entity or part.
//
// The source thread fills a Grid and publishes it; from then on it is immutable and shared. Rows
// follow `fields()` (ascending field id, each once), columns follow `topology()`. A row has cells
// only for the columns on which its field can be read (columns.h); values are stored row by row.
// Each distinct text is stored once, in a pool of the grid; therefore a Value has 16 bytes and a
// steady reading allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fields/field.h"
#include "fields/field_collections.h"
#include "sample/findings.h"
#include "sample/value.h"
#include "topology/topology.h"

namespace podgpu {

// Index of a row in a grid.
struct FieldRow {
  uint16_t index = 0;
};

class Grid {
 public:
  // All cells are absent (kNotRead). `fields` point into the catalogue, ascending by id without
  // repeats.
  Grid(std::shared_ptr<const Topology> topology, std::vector<const Field*> fields);

  const Topology& topology() const { return *topology_; }
  const std::shared_ptr<const Topology>& shared_topology() const { return topology_; }
  const std::vector<const Field*>& fields() const { return fields_; }

  // Returns the row of field `id`, or nothing when the grid does not contain it.
  std::optional<FieldRow> RowOf(uint16_t field_id) const;

  const Value& at(FieldRow row, EntityId entity) const { return values_[CellIndex(row, entity)]; }
  Value& at(FieldRow row, EntityId entity) { return values_[CellIndex(row, entity)]; }
  // Row-major index of a cell, valid for cells().
  size_t CellIndex(FieldRow row, EntityId entity) const {
    PODGPU_CHECK(row.index < rows_.size() && rows_[row.index].columns.Contains(entity));
    return rows_[row.index].first_cell + (entity.index - rows_[row.index].columns.first);
  }
  // Returns the columns in which a row has cells.
  ColumnRange ColumnsOf(FieldRow row) const {
    PODGPU_CHECK(row.index < rows_.size());
    return rows_[row.index].columns;
  }
  std::span<Value> CellsOf(FieldRow row) {
    return std::span(values_).subspan(rows_[row.index].first_cell, rows_[row.index].columns.count);
  }
  std::span<const Value> CellsOf(FieldRow row) const {
    return std::span(values_).subspan(rows_[row.index].first_cell, rows_[row.index].columns.count);
  }
  const std::vector<Value>& cells() const { return values_; }

  // Sets the fields that are sampled at intervals of their own; all others are sampled every
  // `interval`.  Null: there are none.
  void SetCollections(std::shared_ptr<const FieldCollections> collections,
                      std::chrono::milliseconds interval);
  const std::shared_ptr<const FieldCollections>& collections() const { return collections_; }
  // Returns the time between two samples of a row whose field has an interval of its own, else 0.
  std::chrono::milliseconds PeriodOf(FieldRow row) const {
    PODGPU_CHECK(row.index < rows_.size());
    return rows_[row.index].period;
  }

  // Returns whether the column of `entity` has a number not older than `limit`. Texts do not count,
  // because identity outlives a device; nor do fields that DCGM itself samples rarely
  // (slow_fields.h).  Fields of collections that are sampled more rarely than the others count only
  // on a device that has no other numbers to give, up to three of their intervals.
  bool HasFreshNumbers(EntityId entity, std::chrono::milliseconds limit) const;

  // Returns the same for a grid from which stale values have been withdrawn: any number counts,
  // regardless of its age. Fields from which podgpu judges a device do not count (field_ids.h).
  bool HasCurrentNumbers(EntityId entity) const;

  // Makes every cell absent for `reason`. Empties texts and findings and keeps their memory.
  void Clear(Absence reason);

  // Returns the index of `text` in the pool, adding it if it is new. Searches the distinct texts of
  // the grid.
  uint32_t InternText(std::string_view text);
  const std::string& text(const Value& value) const {
    PODGPU_CHECK(value.kind() == Value::Kind::kText && value.text() < text_count_);
    return texts_[value.text()];
  }

  // Start of the reading. Ages of values refer to this time.
  Instant read_at{};
  WallTime read_at_wall{};

  // Facts besides the cells.
  Findings findings;

 private:
  struct Counted {
    std::chrono::milliseconds limit{};
    bool with_judged = false;
    bool rare = false;  // Fields of rare collections, instead of the others.
  };
  bool HasNumbers(EntityId entity, std::chrono::milliseconds limit, bool with_judged) const;
  // Returns nothing when the device of the column has no such field.
  std::optional<bool> HasNumbers(EntityId entity, const Counted& counted) const;
  struct Row {
    ColumnRange columns;
    size_t first_cell = 0;
    std::chrono::milliseconds period{0};  // Time between two samples; 0: that of all others.
    bool is_rare = false;                 // Of a collection with a longer interval than the others.
  };

  std::shared_ptr<const Topology> topology_;
  std::vector<const Field*> fields_;
  std::vector<Row> rows_;  // One for each field.
  std::shared_ptr<const FieldCollections> collections_;
  std::vector<Value> values_;
  std::vector<std::string> texts_;  // The first text_count_ are in use.
  size_t text_count_ = 0;
};

}  // namespace podgpu
