#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "fields/field_ids.h"
#include "pages/status_rows.h"
#include "topology/mig_profile.h"
#include "view/native_table.h"

namespace podgpu {
namespace {

constexpr std::chrono::minutes kIdleAfter{5};
constexpr double kBytesPerMebibyte = 1048576;
constexpr double kPercentsOfWhole = 100;
constexpr double kMilliwatts = 1000;
constexpr uint64_t kCentiwattMw = 10;  // Watts are shown with two decimals.

int64_t InMs(WallTime time) { return ToMicroseconds(time) / 1000; }

// A number of DCGM that a status shows.
struct DeviceNumberRow {
  std::optional<double> StatusGpu::*at;
  uint16_t field_id;
  double scale;
  double most;  // The largest valid number, after scaling.
};
constexpr DeviceNumberRow kDeviceNumbers[] = {
    {&StatusGpu::sm_clock_mhz, 100, 1, 1e6},
    {&StatusGpu::temperature_celsius, 150, 1, 1e4},
    {&StatusGpu::power_watts, field_ids::kPower, 1, 1e6},
    {&StatusGpu::slowdown_celsius, 158, 1, 1e4},
    {&StatusGpu::power_limit_watts, field_ids::kPowerLimit, 1, 1e6},
    {&StatusGpu::utilization_ratio, field_ids::kGpuUtilization, 1 / kPercentsOfWhole, 1},
    {&StatusGpu::sm_active_ratio, field_ids::kSmActivity, 1, 1.05},
    {&StatusGpu::tensor_active_ratio, 1004, 1, 1.05},
    {&StatusGpu::dram_active_ratio, 1005, 1, 1.05},
};

std::optional<double> NumberOf(const Grid& grid, const std::optional<FieldRow>& row,
                               EntityId entity, double most) {
  if (!row || !grid.ColumnsOf(*row).Contains(entity)) {
    return std::nullopt;
  }
  const Value& value = grid.at(*row, entity);
  if ((value.kind() != Value::Kind::kInt64 && value.kind() != Value::Kind::kDouble) ||
      !(value.number() >= 0) || value.number() > most) {
    return std::nullopt;
  }
  return value.number();
}

// The rows of a grid that a status shows, found once for all devices.
class ShownRows {
 public:
  explicit ShownRows(const Grid& grid) : grid_(grid) {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      numbers_[i] = grid.RowOf(kDeviceNumbers[i].field_id);
    }
  }

  void AddNumbers(EntityId entity, StatusGpu& gpu) const {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const DeviceNumberRow& row = kDeviceNumbers[i];
      if (const auto number = NumberOf(grid_, numbers_[i], entity, row.most / row.scale)) {
        gpu.*row.at = *number * row.scale;
      }
    }
    gpu.memory_used_bytes = MemoryUsed(entity);
    gpu.memory_total_bytes = MemoryTotal(entity);
    AddThrottleReasons(entity, gpu);
  }
  std::optional<double> SmActivity(EntityId entity) const {
    return NumberOf(grid_, sm_activity_, entity, 1.05);
  }
  std::optional<uint64_t> MemoryUsed(EntityId entity) const { return Bytes(memory_used_, entity); }
  std::optional<uint64_t> MemoryTotal(EntityId entity) const {
    return Bytes(memory_total_, entity);
  }

 private:
  std::optional<uint64_t> Bytes(const std::optional<FieldRow>& row, EntityId entity) const {
    constexpr double kMostMebibytes = 1e9;
    const std::optional<double> number = NumberOf(grid_, row, entity, kMostMebibytes);
    return number ? std::optional(static_cast<uint64_t>(*number * kBytesPerMebibyte))
                  : std::nullopt;
  }

  void AddThrottleReasons(EntityId entity, StatusGpu& gpu) const {
    const std::optional<double> reasons = NumberOf(grid_, throttle_reasons_, entity, 1e15);
    const auto bits = static_cast<uint64_t>(reasons.value_or(0));
    if (bits == 0) {
      return;
    }
    for (const Measure& measure : Measures()) {
      if (measure.field_id == field_ids::kClockReasons && measure.actionable &&
          (bits >> *measure.bit & 1) != 0) {
        gpu.throttle_reasons.emplace_back(measure.extra_value);
      }
    }
  }

  const Grid& grid_;
  std::array<std::optional<FieldRow>, std::size(kDeviceNumbers)> numbers_;
  const std::optional<FieldRow> sm_activity_ = grid_.RowOf(field_ids::kSmActivity);
  const std::optional<FieldRow> memory_used_ = grid_.RowOf(field_ids::kMemoryUsed);
  const std::optional<FieldRow> memory_total_ = grid_.RowOf(field_ids::kMemoryTotal);
  const std::optional<FieldRow> throttle_reasons_ = grid_.RowOf(field_ids::kClockReasons);
};

// Adds the containers that hold `entity`, each once.
void AddHolders(const NodeStatusFacts& facts, EntityId entity, std::vector<StatusHolder>& holders,
                uint32_t& hidden) {
  const Owners& owners = *facts.snapshot->parts().owners;
  if (!facts.condition->owners_known) {
    return;
  }
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> hidden_ones;
  for (const Owner& owner : owners.by_entity[entity.index]) {
    StatusHolder holder{owner.pod_namespace, owner.pod, owner.container};
    if (!facts.visible.Shows(owner.pod_namespace)) {
      hidden_ones.emplace(owner.pod_namespace, owner.pod, owner.container);
    } else if (std::ranges::find(holders, holder) == holders.end()) {
      holders.push_back(std::move(holder));
    }
  }
  hidden += static_cast<uint32_t>(hidden_ones.size());
}

StatusInstance MakeInstance(const NodeStatusFacts& facts, const ShownRows& rows, EntityId entity) {
  const Topology& topology = facts.snapshot->parts().grid->topology();
  const GpuInstance& instance = *topology.InstanceOf(entity);
  StatusInstance made;
  made.gpu_instance_id = instance.gpu_instance_id;
  made.profile = instance.profile;
  made.sm_ratio = rows.SmActivity(entity);
  made.memory_used_bytes = rows.MemoryUsed(entity);
  made.memory_total_bytes = rows.MemoryTotal(entity);
  AddHolders(facts, entity, made.holders, made.hidden_holders);
  return made;
}

StatusGpu MakeGpu(const NodeStatusFacts& facts, const ShownRows& rows, EntityId entity) {
  const Gpu& gpu = facts.snapshot->parts().grid->topology().GpuOf(entity);
  StatusGpu made;
  made.index = gpu.gpu_id;
  made.uuid = gpu.uuid;
  made.model = gpu.model;
  made.pci_bus_id = gpu.pci_bus_id;
  made.state = "recovering";  // The condition was made before the GPU was known.
  made.owners = "not known: no page has been made with this device yet";
  const auto& judged = facts.condition->devices;
  const auto device = std::ranges::find(judged, gpu.uuid, &DeviceCondition::uuid);
  if (device != judged.end()) {
    made.state = device->state;
    made.owners = device->owners;
  }
  const GpuTimes times = facts.timeline.TimesOf(gpu.uuid);
  if (made.state != "ok" && times.state_since) {
    made.since_ms = InMs(*times.state_since);
  }
  AddHolders(facts, entity, made.holders, made.hidden_holders);
  if (!HasNoNumbers(made)) {
    rows.AddNumbers(entity, made);
    made.energy_joules = times.energy_joules;
  }
  return made;
}

// Returns since when the pod has run no kernel on the device, if that is long enough.
std::optional<int64_t> IdleSinceOf(const CopiedPod& pod, WallTime now) {
  if (pod.active_at) {
    return now - *pod.active_at >= kIdleAfter ? std::optional(InMs(*pod.active_at)) : std::nullopt;
  }
  return pod.idle >= kIdleAfter ? std::optional(InMs(now - pod.idle)) : std::nullopt;
}

// Called when holders and instances are known.
void MarkIdle(const NodeStatusFacts& facts, const UseCopy& use, StatusGpu& gpu) {
  const GpuTimes times = facts.timeline.TimesOf(gpu.uuid);
  if (!facts.condition->owners_known || HasNoNumbers(gpu) || !IsAllocated(gpu) ||
      !times.idle_since) {
    return;
  }
  WallTime since = *times.idle_since;
  bool is_longer = times.idle_for_longer;
  const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
  for (const CopiedPod& pod : use.pods) {
    // Processes are read more often than fields.
    if (device == pod.key.device && pod.active_at && *pod.active_at > since) {
      since = *pod.active_at;
      is_longer = false;
    }
  }
  if (facts.wall_now - since >= kIdleAfter) {
    gpu.idle_since_ms = InMs(since);
    gpu.idle_for_longer = is_longer;
  }
}

// The activity of the instances of a GPU in MIG mode, as weights; empty if one is not known.
std::vector<InstanceActivity> ActivityOfInstances(const Grid& grid, std::string_view uuid) {
  std::vector<InstanceActivity> weights;
  const Topology& topology = grid.topology();
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const EntityId entity{static_cast<uint16_t>(i)};
    const GpuInstance* const instance = topology.InstanceOf(entity);
    if (instance == nullptr || topology.GpuOf(entity).uuid != uuid) {
      continue;
    }
    std::optional<double> activity =
        NumberOf(grid, grid.RowOf(field_ids::kSmActivity), entity, 1.05);
    activity =
        activity ? activity : NumberOf(grid, grid.RowOf(field_ids::kEngineActivity), entity, 1.05);
    if (!activity) {
      return {};
    }
    constexpr double kWhole = 1e6;
    weights.push_back({instance->gpu_instance_id, static_cast<uint64_t>(*activity * kWhole) *
                                                      ComputeSlicesOf(instance->profile)});
  }
  return weights;
}

uint64_t CentiwattsOf(const std::optional<double>& watts) {
  return watts ? static_cast<uint64_t>(std::llround(*watts * kPercentsOfWhole)) : 0;
}

// Appends what remains of the device when all `shares` have theirs.
void AddRest(const StatusGpu& gpu, std::vector<StatusShare>& shares) {
  StatusShare rest;
  uint64_t power = CentiwattsOf(gpu.power_watts);
  uint64_t memory = gpu.memory_used_bytes.value_or(0);
  bool memory_is_known = gpu.memory_used_bytes.has_value();
  for (const StatusShare& share : shares) {
    power -= std::min(power, CentiwattsOf(share.use.power_watts));
    memory_is_known = memory_is_known && share.use.memory_bytes;
    memory -= std::min(memory, share.use.memory_bytes.value_or(0));
  }
  if (gpu.power_watts) {
    rest.use.power_watts = static_cast<double>(power) / kPercentsOfWhole;
  }
  if (memory_is_known) {
    rest.use.memory_bytes = memory;
  }
  shares.push_back(std::move(rest));
}

// The driver tells no activity of processes on a partitioned GPU.  Where a pod alone has one
// instance, the activity of the instance is the pod's.
void AddActivityOfInstances(const StatusGpu& gpu, std::vector<StatusShare>& shares) {
  for (StatusShare& share : shares) {
    size_t held = 0;
    std::optional<double> activity;
    for (const StatusInstance& instance : gpu.instances) {
      const bool is_held =
          std::ranges::any_of(instance.holders, [&share](const StatusHolder& holder) {
            return holder.pod_namespace == share.holder->pod_namespace &&
                   holder.pod == share.holder->pod;
          });
      held += is_held ? 1U : 0U;
      if (is_held && instance.holders.size() + instance.hidden_holders == 1) {
        activity = instance.sm_ratio;
      }
    }
    if (held == 1 && !share.use.sm_ratio) {
      share.use.sm_ratio = activity;
    }
  }
}

// Returns how many containers hold the GPU or an instance of it; one that holds several is counted
// again.
size_t HolderCount(const StatusGpu& gpu) {
  size_t count = gpu.holders.size() + gpu.hidden_holders;
  for (const StatusInstance& instance : gpu.instances) {
    count += instance.holders.size() + instance.hidden_holders;
  }
  return count;
}

std::vector<StatusHolder> AllHolders(const StatusGpu& gpu) {
  std::vector<StatusHolder> all = gpu.holders;
  for (const StatusInstance& instance : gpu.instances) {
    all.insert(all.end(), instance.holders.begin(), instance.holders.end());
  }
  std::ranges::sort(all, {}, [](const StatusHolder& holder) {
    return std::tie(holder.pod_namespace, holder.pod, holder.container);
  });
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

void AddShares(const NodeStatusFacts& facts, const UseCopy& use, StatusGpu& gpu) {
  const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
  if (!device && HolderCount(gpu) < 2) {
    return;  // The usual case: one container, and processes are not read.
  }
  std::vector<StatusShare> shares;
  if (device && !HasNoNumbers(gpu)) {
    const PowerSplit split = SplitOf(facts, use, gpu);
    for (const CopiedPod& pod : use.pods) {
      if (pod.key.device == *device && facts.visible.Shows(pod.pod_namespace)) {
        shares.push_back({StatusHolder{pod.pod_namespace, pod.pod, pod.container},
                          UseOfPod(pod, split, gpu), IdleSinceOf(pod, facts.wall_now)});
      }
    }
  }
  for (const StatusHolder& holder : AllHolders(gpu)) {
    const auto is_same = [&](const StatusShare& share) {
      return share.holder->pod_namespace == holder.pod_namespace && share.holder->pod == holder.pod;
    };
    if (std::ranges::none_of(shares, is_same)) {
      shares.push_back({holder, {}, std::nullopt});
    }
  }
  // A process without a name could not be looked up: it may well be the only holder's.
  const bool has_outsider = std::ranges::any_of(use.processes, [&](const CopiedProcess& process) {
    return device == process.key.device && process.pod == kNoPod && !process.name.empty();
  });
  const size_t parties = shares.size() + gpu.hidden_holders + (has_outsider ? 1U : 0U);
  if (parties < 2) {
    return;
  }
  std::ranges::stable_sort(shares, {}, [](const StatusShare& share) {
    return std::tie(share.holder->pod_namespace, share.holder->pod);
  });
  AddActivityOfInstances(gpu, shares);
  AddRest(gpu, shares);
  gpu.shares = std::move(shares);
}

}  // namespace

bool IsAllocated(const StatusGpu& gpu) { return HolderCount(gpu) > 0; }

bool HasNoNumbers(const StatusGpu& gpu) { return gpu.state == "lost"; }

PowerSplit SplitOf(const NodeStatusFacts& facts, const UseCopy& use, const StatusGpu& gpu) {
  const std::optional<DeviceNumber> device = use.DeviceOf(gpu.uuid);
  if (!device || !gpu.power_watts || HasNoNumbers(gpu)) {
    return {};
  }
  return SplitPower(use, *device,
                    static_cast<uint64_t>(std::llround(*gpu.power_watts * kMilliwatts)),
                    ActivityOfInstances(*facts.snapshot->parts().grid, gpu.uuid), facts.ledger);
}

StatusUse UseOfPod(const CopiedPod& pod, const PowerSplit& split, const StatusGpu& gpu) {
  StatusUse use;
  if (pod.sm_percent) {
    use.sm_ratio = std::min(*pod.sm_percent / kPercentsOfWhole, 1.0);
  }
  use.memory_bytes = pod.memory_bytes;
  const auto part = split.pods.find(pod.key.pod);
  if (gpu.power_watts && part != split.pods.end()) {
    // Rounded down, so that the rows never exceed the device's power as it is shown.
    const uint64_t centiwatts = part->second.power_mw / kCentiwattMw;
    use.power_watts = static_cast<double>(centiwatts) / kPercentsOfWhole;
    use.is_apportioned = part->second.is_apportioned;
  }
  use.energy_joules = static_cast<double>(SumMj(pod.energy)) / kMilliwatts;
  use.is_apportioned = use.is_apportioned || IsApportioned(pod.energy);
  use.method = MethodOf(pod.energy);
  return use;
}

void AddDevices(const NodeStatusFacts& facts, const UseCopy& use, NodeStatus& status) {
  const Topology& topology = facts.snapshot->parts().grid->topology();
  const ShownRows rows(*facts.snapshot->parts().grid);
  status.gpus.reserve(topology.gpus.size());
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const EntityId entity{static_cast<uint16_t>(i)};
    if (topology.InstanceOf(entity) != nullptr) {
      status.gpus.back().instances.push_back(MakeInstance(facts, rows, entity));
    } else {
      status.gpus.push_back(MakeGpu(facts, rows, entity));
    }
  }
  for (StatusGpu& gpu : status.gpus) {
    std::ranges::sort(gpu.instances, {}, &StatusInstance::gpu_instance_id);
    MarkIdle(facts, use, gpu);
    AddShares(facts, use, gpu);
    if (HasNoNumbers(gpu)) {
      for (StatusInstance& instance : gpu.instances) {
        instance.sm_ratio.reset();
        instance.memory_used_bytes.reset();
      }
    }
  }
}

std::vector<uint16_t> StatusFieldIds(bool profiling) {
  std::vector<uint16_t> ids = {field_ids::kClockReasons,   field_ids::kXid,
                               field_ids::kMemoryTotal,    field_ids::kMemoryUsed,
                               field_ids::kRemapFailed,    field_ids::kRemapPending,
                               field_ids::kEngineActivity, field_ids::kEnergy};
  for (const DeviceNumberRow& row : kDeviceNumbers) {
    ids.push_back(row.field_id);
  }
  std::ranges::sort(ids);
  if (!profiling) {
    std::erase_if(ids, [](uint16_t id) { return id >= field_ids::kFirstProfiling; });
  }
  return ids;
}

}  // namespace podgpu
