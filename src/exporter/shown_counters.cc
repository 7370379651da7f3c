#include "exporter/shown_counters.h"

namespace podgpu {
namespace {

// A profiling field needs two samples of the engine, which take up to two intervals.  The second
// may come during the third reading, so the fourth has it; one more for a loaded machine.
constexpr int kReadingsForRates = 5;

// Returns whether an entity still lacks a sample of the field, or no entity has a value.  A reading
// takes several calls, so the second sample can come between them: some entities then have it,
// others do not yet.  DCGM answers blank for those.
bool AwaitsSample(const Grid& grid, FieldRow row) {
  const ColumnRange columns = grid.ColumnsOf(row);
  bool has_value = false;
  for (uint16_t i = 0; i < columns.count; ++i) {
    const Value& value = grid.at(row, EntityId{static_cast<uint16_t>(columns.first + i)});
    if (!value.present() &&
        (value.absence() == Absence::kNoData || value.absence() == Absence::kBlank)) {
      return true;
    }
    has_value = has_value || value.present();
  }
  return !has_value;
}

// Returns whether a profiling field, whose value is a rate between two samples, lacks a value yet.
bool AwaitsSecondSample(const Grid& grid) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (grid.fields()[row]->profiling && AwaitsSample(grid, FieldRow{row})) {
      return true;
    }
  }
  return false;
}

}  // namespace

ShownCounters::ShownCounters(std::vector<Counter> counters) {
  wanted_.Set(std::make_shared<const Metrics>(Metrics{std::move(counters), {}}));
  shown_.Set(wanted_.Get());
}

void ShownCounters::ShowInstead(std::vector<Counter> counters, std::vector<const Field*> fields) {
  wanted_.Set(std::make_shared<const Metrics>(Metrics{std::move(counters), std::move(fields)}));
}

bool ShownCounters::LacksFields(const Grid& shown) const {
  const std::shared_ptr<const Metrics> wanted = wanted_.Get();
  return !wanted->fields.empty() &&
         (shown.fields() != wanted->fields ||
          (readings_shown_.load() < kReadingsForRates && AwaitsSecondSample(shown)));
}

void ShownCounters::Take(const Grid* grid) {
  const std::shared_ptr<const Metrics> wanted = wanted_.Get();
  if (wanted != shown_.Get() && (grid == nullptr || grid->fields() == wanted->fields)) {
    shown_.Set(wanted);
    readings_shown_ = 0;
    ++generation_;
  }
  if (grid != nullptr && read_at_ != grid->read_at) {
    read_at_ = grid->read_at;
    ++readings_shown_;
  }
}

std::shared_ptr<const std::vector<Counter>> ShownCounters::Get() const {
  const std::shared_ptr<const Metrics> shown = shown_.Get();
  return {shown, &shown->counters};
}

}  // namespace podgpu
