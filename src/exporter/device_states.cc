#include "exporter/device_states.h"

namespace podgpu {
namespace {

enum class Voice : uint8_t { kSilent, kStale, kSpeaks };

Voice Hear(const Grid& grid, EntityId entity) {
  if (grid.HasFreshNumbers(entity, std::chrono::milliseconds::max())) {
    return Voice::kSpeaks;
  }
  const auto rows = static_cast<uint16_t>(grid.fields().size());
  for (uint16_t row = 0; row < rows; ++row) {
    if (!grid.ColumnsOf(FieldRow{row}).Contains(entity)) {
      continue;
    }
    const Value& value = grid.at(FieldRow{row}, entity);
    if (!value.present() && value.absence() == Absence::kStale) {
      return Voice::kStale;
    }
  }
  return Voice::kSilent;
}

}  // namespace

GpuSet FrozenGpus(const Grid& grid) {
  GpuSet stale;
  GpuSet speaking;
  const Topology& topology = grid.topology();
  const auto columns = static_cast<uint16_t>(topology.entities.size());
  for (uint16_t column = 0; column < columns; ++column) {
    const size_t gpu = topology.entities[column].gpu;
    if (gpu < kMaxJudgedGpus && !speaking[gpu]) {
      const Voice voice = Hear(grid, EntityId{column});
      speaking[gpu] = voice == Voice::kSpeaks;
      stale[gpu] = stale[gpu] || voice == Voice::kStale;
    }
  }
  return stale & ~speaking;
}

DeviceState JudgeState(const Topology& topology, size_t index, const GpuSet& frozen,
                       bool all_stale) {
  const DeviceState told = topology.gpus[index].state;
  if (all_stale) {
    return DeviceState::kUnresponsive;
  }
  const bool is_frozen = index < kMaxJudgedGpus && frozen[index];
  return is_frozen && told != DeviceState::kLost ? DeviceState::kUnresponsive : told;
}

}  // namespace podgpu
