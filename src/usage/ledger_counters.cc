#include "usage/ledger_counters.h"

#include <algorithm>
#include <chrono>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

uint32_t AgeMs(Instant read_at, Instant counted_at) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(read_at - counted_at);
  return static_cast<uint32_t>(std::max<int64_t>(age.count(), 0));
}

}  // namespace

std::optional<CountedReading> LedgerCounters::CountedOf(const std::string& uuid,
                                                        const Facts& facts) {
  const auto device = std::ranges::find(facts.uuids, uuid);
  if (!facts.is_shown || device == facts.uuids.end()) {
    return std::nullopt;
  }
  return facts.ledger.Counted({static_cast<uint32_t>(device - facts.uuids.begin())});
}

bool LedgerCounters::Show(const Reading& reading, Instant now, std::optional<Shown>& shown) {
  if (shown && reading.counter_mj == shown->counter_mj) {
    return true;
  }
  // A lower counter that may be the older of the two readings must wait.  A lower counter that was
  // certainly read later means that the counter itself was reset.
  if (shown && reading.counter_mj < shown->counter_mj && reading.at <= shown->until) {
    return false;
  }
  shown = {.counter_mj = reading.counter_mj, .until = now};
  return true;
}

// An absent value stays absent, with the reason that the source gave.
Value LedgerCounters::ValueFor(const Value& told, const std::string& uuid, Instant read_at,
                               const Facts& facts, std::optional<Shown>& shown) {
  if (told.kind() != Value::Kind::kInt64) {
    return told;
  }
  const Value stale = Value::OfAbsence(Absence::kStale);
  const std::optional<CountedReading> counted = CountedOf(uuid, facts);
  if (!counted) {
    const Instant at = read_at - std::chrono::milliseconds(told.age_ms());
    return Show({.counter_mj = told.int64(), .at = at}, facts.now, shown) ? told : stale;
  }
  const Reading reading{.counter_mj = static_cast<int64_t>(counted->counter_mj), .at = counted->at};
  if (facts.now - counted->at > facts.stale_after || !Show(reading, facts.now, shown)) {
    return stale;
  }
  return Value::OfInt64(reading.counter_mj, AgeMs(read_at, counted->at));
}

std::shared_ptr<const Grid> LedgerCounters::ShowIn(const std::shared_ptr<const Grid>& grid,
                                                   const Facts& facts) {
  const std::optional<FieldRow> row = grid->RowOf(field_ids::kEnergy);
  if (!row) {
    return grid;
  }
  const Topology& topology = grid->topology();
  std::shared_ptr<Grid> shown = grids_.Take(grid->shared_topology(), grid->fields());
  *shown = *grid;
  const auto entities = static_cast<uint16_t>(topology.entities.size());
  for (uint16_t i = 0; i < entities; ++i) {
    if (!shown->ColumnsOf(*row).Contains(EntityId{i})) {
      continue;
    }
    const std::string& uuid = topology.GpuOf(EntityId{i}).uuid;
    const GpuInstance* instance = topology.InstanceOf(EntityId{i});
    const uint32_t part = instance == nullptr ? kWholeGpu : instance->gpu_instance_id;
    Value& value = shown->at(*row, EntityId{i});
    value = ValueFor(value, uuid, grid->read_at, facts, shown_[uuid][part]);
  }
  return shown;
}

}  // namespace podgpu
