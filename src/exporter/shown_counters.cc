#include "exporter/shown_counters.h"

namespace podgpu {
namespace {

// A profiling field needs two samples of the engine, and the second may come just after a reading.
constexpr int kReadingsForRates = 3;

bool HasValue(const Grid& grid, FieldRow row) {
  const ColumnRange columns = grid.ColumnsOf(row);
  for (uint16_t i = 0; i < columns.count; ++i) {
    if (grid.at(row, EntityId{static_cast<uint16_t>(columns.first + i)}).present()) {
      return true;
    }
  }
  return false;
}

// Whether a profiling field, whose value is a rate between two samples, has no value yet.
bool AwaitsSecondSample(const Grid& grid) {
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (grid.fields()[row]->profiling && !HasValue(grid, FieldRow{row})) {
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
