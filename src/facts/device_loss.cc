#include "facts/device_loss.h"

#include <algorithm>
#include <array>
#include <optional>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

struct LossWords {
  DeviceLoss loss;
  std::string_view cause, remedy;
};

// In the order of DeviceLoss.
constexpr std::array<LossWords, 7> kWords = {{
    {DeviceLoss::kNone, "", ""},
    {DeviceLoss::kSoftwareThermal, "the driver slows it down because it is hot (sw_thermal)",
     "check the cooling of the node: inlet air, fans, neighbouring GPUs"},
    {DeviceLoss::kHardwareSlowdown, "the board slows it down (hw_slowdown)",
     "check the cooling and the power supply of the node"},
    {DeviceLoss::kHardwareThermal, "the board slows it down because it is hot (hw_thermal)",
     "check the cooling of the node: inlet air, fans, neighbouring GPUs"},
    {DeviceLoss::kPowerBrake, "the node's power supply slows it down (hw_power_brake)",
     "check the power supply of the node"},
    {DeviceLoss::kRemapPending, "rows of its memory wait for a reset to be remapped",
     "drain the GPU and reset it"},
    {DeviceLoss::kRemapFailed, "a row of its memory could not be remapped",
     "drain the node and replace the board"},
}};

struct ReasonBit {
  uint8_t bit;  // Bit of field 112.
  DeviceLoss loss;
};

// The most severe first.
constexpr ReasonBit kReasons[] = {{7, DeviceLoss::kPowerBrake},
                                  {6, DeviceLoss::kHardwareThermal},
                                  {3, DeviceLoss::kHardwareSlowdown},
                                  {5, DeviceLoss::kSoftwareThermal}};

// Returns the number of `field` in the column, 0 where there is none.
uint64_t NumberAt(const Grid& grid, uint16_t field, EntityId column) {
  constexpr double kMost = 1e15;  // A mask of reasons has few bits.
  const std::optional<FieldRow> row = grid.RowOf(field);
  if (!row || !grid.ColumnsOf(*row).Contains(column)) {
    return 0;
  }
  const Value& value = grid.at(*row, column);
  const bool is_number = value.present() && value.kind() != Value::Kind::kText &&
                         value.number() >= 0 && value.number() < kMost;
  return is_number ? static_cast<uint64_t>(value.number()) : 0;
}

}  // namespace

DeviceLoss LossIn(const Grid& grid, size_t index) {
  const std::vector<Entity>& entities = grid.topology().entities;
  const auto found = std::ranges::find(entities, index, &Entity::gpu);
  if (found == entities.end()) {
    return DeviceLoss::kNone;
  }
  // The column of a GPU comes before those of its instances.
  const EntityId column{static_cast<uint16_t>(found - entities.begin())};
  if (NumberAt(grid, field_ids::kRemapFailed, column) > 0) {
    return DeviceLoss::kRemapFailed;
  }
  if (NumberAt(grid, field_ids::kRemapPending, column) > 0) {
    return DeviceLoss::kRemapPending;
  }
  const uint64_t reasons = NumberAt(grid, field_ids::kClockReasons, column);
  const auto* const reason = std::ranges::find_if(
      kReasons, [&](const ReasonBit& tested) { return (reasons >> tested.bit & 1) != 0; });
  return reason == std::end(kReasons) ? DeviceLoss::kNone : reason->loss;
}

std::string_view CauseOf(DeviceLoss loss) { return kWords[static_cast<size_t>(loss)].cause; }

std::string_view RemedyOf(DeviceLoss loss) { return kWords[static_cast<size_t>(loss)].remedy; }

}  // namespace podgpu
