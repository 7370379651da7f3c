#include "usage/pod_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fields/field_ids.h"
#include "usage/device_holders.h"

namespace podgpu {
namespace {

constexpr uint64_t kBytesInMib = uint64_t{1} << 20U;

struct PodSums {
  uint64_t busy_percent = 0;
  uint64_t memory_mib = 0;
  bool knows_busy = true;  // True while each process has the value, as in the next line.
  bool knows_memory = true;
};

void AddProcess(const ProcessRow& row, PodSums& sums) {
  sums.busy_percent += row.sm_percent.value_or(0);
  sums.memory_mib += row.memory_bytes.value_or(0) / kBytesInMib;
  sums.knows_busy = sums.knows_busy && row.sm_percent.has_value();
  sums.knows_memory = sums.knows_memory && row.memory_bytes.has_value();
}

Value SumOrNothing(bool is_known, uint64_t sum) {
  return is_known ? Value::OfInt64(static_cast<int64_t>(sum))
                  : Value::OfAbsence(Absence::kNotSupported);
}

}  // namespace

bool PodValues::Find(const TickFacts& facts, const std::vector<std::string>& uuids,
                     const PodUids& uids, PodNumbers& numbers) {
  std::vector<User> users;
  const Topology& topology = facts.grid->topology();
  for (uint16_t i = 0; facts.owners != nullptr && i < facts.owners->by_entity.size(); ++i) {
    const auto uuid = std::ranges::find(uuids, topology.GpuOf({i}).uuid);
    const GpuInstance* instance = topology.InstanceOf({i});
    for (const Owner& owner : facts.owners->by_entity[i]) {
      const PodNumber pod = numbers.NumberOf(uids.Of(owner), facts.now);
      if (pod != kNoPod && uuid != uuids.end()) {
        users.push_back({owner.pod_namespace,
                         owner.pod,
                         i,
                         instance == nullptr ? kWholeGpu : instance->gpu_instance_id,
                         {static_cast<uint32_t>(uuid - uuids.begin())},
                         pod});
      }
    }
  }
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  const bool changed = users != users_;
  users_ = std::move(users);
  return changed;
}

PodSlots PodValues::SlotsFrom(uint32_t first_slot) const {
  PodSlots slots;
  for (const User& user : users_) {
    slots[{field_ids::kGpuUtilization, user.column, user.pod_namespace, user.pod_name}] =
        first_slot++;
    slots[{field_ids::kMemoryUsed, user.column, user.pod_namespace, user.pod_name}] = first_slot++;
  }
  return slots;
}

void PodValues::AppendTo(const ProcessTable& table, std::vector<Value>& slots) const {
  for (const User& user : users_) {
    const auto interval =
        std::ranges::find(table.intervals(), user.device, &DeviceInterval::device);
    const auto rows = table.devices().find(user.device);
    if (interval == table.intervals().end() || !interval->residents_known ||
        rows == table.devices().end()) {
      slots.insert(slots.end(), 2, Value::OfAbsence(Absence::kNoProcesses));
      continue;
    }
    PodSums sums;
    for (const auto& [process, row] : rows->second) {
      if (row.active && row.pod == user.pod && row.instance == user.instance) {
        AddProcess(row, sums);
      }
    }
    slots.push_back(SumOrNothing(sums.knows_busy && user.instance == kWholeGpu, sums.busy_percent));
    slots.push_back(SumOrNothing(sums.knows_memory, sums.memory_mib));
  }
}

}  // namespace podgpu
