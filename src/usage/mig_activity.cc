#include "usage/mig_activity.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "fields/field_ids.h"
#include "topology/mig_profile.h"

namespace podgpu {
namespace {

// SM activity; graphics engine activity where SM activity is not read.
constexpr uint16_t kActivityFields[] = {field_ids::kSmActivity, field_ids::kEngineActivity};
constexpr double kPercentPerRatio = 100;

bool IsRatio(const Value& value) {
  return value.present() && value.kind() != Value::Kind::kText && value.number() >= 0 &&
         value.number() <= 1;
}

}  // namespace

std::vector<uint16_t> MigActivityFieldIds() {
  return {std::begin(kActivityFields), std::end(kActivityFields)};
}

void MigActivity::Find(const Topology& topology, const std::vector<std::string>& uuids) {
  devices_.resize(uuids.size());
  for (Device& device : devices_) {
    device.parts.clear();
  }
  const auto entities = static_cast<uint16_t>(topology.entities.size());
  for (uint16_t i = 0; i < entities; ++i) {
    const GpuInstance* instance = topology.InstanceOf({i});
    const auto uuid = std::ranges::find(uuids, topology.GpuOf({i}).uuid);
    if (instance != nullptr && uuid != uuids.end()) {
      devices_[static_cast<size_t>(uuid - uuids.begin())].parts.push_back(
          {{i}, instance->gpu_instance_id, ComputeSlicesOf(instance->profile)});
    }
  }
}

void MigActivity::AddTo(const Grid& grid, DeviceReading& device) {
  if (device.device.value >= devices_.size()) {
    return;
  }
  Device& known = devices_[device.device.value];
  const std::optional<Instant> before = std::exchange(known.read_at, device.at);
  if (known.parts.empty() || !device.instances.empty() || !before || device.at <= *before) {
    return;
  }
  const double span_us = std::chrono::duration<double, std::micro>(device.at - *before).count();
  for (const uint16_t field : kActivityFields) {
    const std::optional<FieldRow> row = grid.RowOf(field);
    const auto is_told = [&](const Part& part) { return IsRatio(grid.at(*row, part.entity)); };
    if (!row || !std::ranges::all_of(known.parts, is_told)) {
      continue;
    }
    for (const Part& part : known.parts) {
      const double busy =
          grid.at(*row, part.entity).number() * kPercentPerRatio * part.slices * span_us;
      device.instances.push_back(
          {.instance = part.instance, .busy = static_cast<uint64_t>(std::llround(busy))});
    }
    return;
  }
}

}  // namespace podgpu
