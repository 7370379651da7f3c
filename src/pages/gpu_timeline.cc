#include "pages/gpu_timeline.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

constexpr std::chrono::minutes kShownTime{5};
constexpr std::chrono::milliseconds kShortestStep{1'000};
constexpr size_t kMostGpus = 128;
constexpr double kMemoryUnitMib = 16;
// The same limit as for idle GPUs of the cluster role: housekeeping of the driver is not zero.
constexpr double kIdleActivity = 0.01;
constexpr double kPercents = 100;

std::optional<double> NumberAt(const Grid& grid, const std::optional<FieldRow>& row,
                               EntityId entity) {
  if (!row || !grid.ColumnsOf(*row).Contains(entity)) {
    return std::nullopt;
  }
  const Value& value = grid.at(*row, entity);
  if (!value.present() || value.kind() == Value::Kind::kText || !(value.number() >= 0)) {
    return std::nullopt;
  }
  return value.number();
}

int8_t PercentOf(const std::optional<double>& part, double whole) {
  if (!part || whole <= 0) {
    return kNoSample;
  }
  return static_cast<int8_t>(std::lround(std::clamp(*part / whole, 0.0, 1.0) * kPercents));
}

// Returns a number in units of `unit`; `none` stands for a number that is absent.
uint16_t InUnits(const std::optional<double>& number, double unit, uint16_t none) {
  return number ? static_cast<uint16_t>(std::clamp(std::round(*number / unit), 0.0, none - 1.0))
                : none;
}

// Returns a hash of the containers that hold a GPU or instances of it.
size_t HashOfHolders(const Topology& topology, const Owners& owners, size_t gpu) {
  size_t hash = 0;
  const auto add = [&hash](std::string_view text) {
    constexpr size_t kOdd = 1099511628211;
    hash = (hash ^ std::hash<std::string_view>()(text)) * kOdd;
  };
  for (size_t i = 0; i < std::min(topology.entities.size(), owners.by_entity.size()); ++i) {
    if (topology.entities[i].gpu == gpu) {
      for (const Owner& owner : owners.by_entity[i]) {
        add(owner.pod_namespace);
        add(owner.pod);
        add(owner.container);
      }
    }
  }
  return hash;
}

}  // namespace

// The fields of a grid that the timeline reads.
struct GpuTimeline::Rows {
  explicit Rows(const Grid& grid)
      : sm(grid.RowOf(field_ids::kSmActivity)),
        engine(grid.RowOf(field_ids::kEngineActivity)),
        utilization(grid.RowOf(field_ids::kGpuUtilization)),
        memory_used(grid.RowOf(field_ids::kMemoryUsed)),
        power(grid.RowOf(field_ids::kPower)),
        memory_total(grid.RowOf(field_ids::kMemoryTotal)),
        power_limit(grid.RowOf(field_ids::kPowerLimit)),
        xid(grid.RowOf(field_ids::kXid)),
        energy(grid.RowOf(field_ids::kEnergy)) {}

  std::optional<FieldRow> sm, engine, utilization, memory_used, power, memory_total, power_limit,
      xid, energy;

  // Returns the activity of a GPU or an instance, from 0 to 1.
  std::optional<double> ActivityOf(const Grid& grid, EntityId entity) const {
    std::optional<double> activity;
    for (const auto& [row, scale] :
         {std::pair(sm, 1.0), std::pair(engine, 1.0), std::pair(utilization, 1.0 / kPercents)}) {
      if (const std::optional<double> number = NumberAt(grid, row, entity)) {
        activity = std::max(activity.value_or(0), *number * scale);
      }
    }
    return activity;
  }
};

GpuTimeline::GpuTimeline(std::chrono::milliseconds period)
    : step_(std::max(period, kShortestStep)) {
  static_assert(sizeof(Sample) == 6);  // docs/performance.md
  static_assert(sizeof(Sample) * kHistorySamples * kMostGpus <= size_t{256} * 1024);
}

void GpuTimeline::FindLines(const Topology& topology) {
  by_gpu_.clear();
  for (const Gpu& gpu : topology.gpus) {
    auto found = std::ranges::find(lines_, gpu.uuid, [](const auto& line) { return line->uuid; });
    if (found == lines_.end() && lines_.size() == kMostGpus) {
      // The oldest line that no GPU of this topology uses.
      found = std::ranges::find_if(lines_, [&](const auto& line) {
        return std::ranges::find(topology.gpus, line->uuid, &Gpu::uuid) == topology.gpus.end();
      });
      if (found == lines_.end()) {
        return;  // More GPUs than podgpu judges: the rest has no history.
      }
      **found = Line();
    } else if (found == lines_.end()) {
      found = lines_.insert(lines_.end(), std::make_unique<Line>());
    }
    (*found)->uuid = gpu.uuid;
    by_gpu_.push_back(static_cast<size_t>(found - lines_.begin()));
  }
}

void GpuTimeline::Take(const TickFacts& facts, WallTime now) {
  if (facts.grid == nullptr) {
    return;
  }
  const Grid& grid = *facts.grid;
  MutexLock lock(mutex_);
  if (topology_ != grid.shared_topology()) {
    topology_ = grid.shared_topology();
    FindLines(*topology_);
    owners_ = nullptr;
  }
  TakeHolders(facts, now);
  const Rows rows(grid);
  const size_t steps = StepsUntil(grid.read_at);
  for (size_t gpu = 0; gpu < by_gpu_.size(); ++gpu) {
    Line& line = *lines_[by_gpu_[gpu]];
    TakeState(facts.StateOf(gpu), now, line);
    for (size_t step = 0; step < steps; ++step) {
      line.ring[line.next] = {};
      line.next = (line.next + 1) % kHistorySamples;
      line.count = std::min(line.count + 1, kHistorySamples);
    }
    TakeGrid(grid, rows, gpu, now, line);
  }
}

// Returns by how many samples the plots advance.  A reading that comes a little early or late
// counts as one step.
size_t GpuTimeline::StepsUntil(Instant read_at) {
  if (!sampled_at_) {
    sampled_at_ = read_at;
    return 1;
  }
  const double steps =
      std::chrono::duration<double>(read_at - *sampled_at_) / std::chrono::duration<double>(step_);
  if (steps < 0.5) {
    return 0;
  }
  sampled_at_ = read_at;
  return std::min(static_cast<size_t>(std::lround(steps)), kHistorySamples);
}

void GpuTimeline::TakeState(DeviceState state, WallTime now, Line& line) const {
  if (line.state && *line.state != state) {
    line.state_since = now;
  }
  line.state = state;
}

// A new holder must not inherit the idle time of the previous one.
void GpuTimeline::TakeHolders(const TickFacts& facts, WallTime now) {
  if (facts.owners == nullptr || facts.owners == owners_) {
    return;
  }
  owners_ = facts.owners;
  for (size_t gpu = 0; gpu < by_gpu_.size(); ++gpu) {
    Line& line = *lines_[by_gpu_[gpu]];
    const size_t holders = HashOfHolders(*topology_, *owners_, gpu);
    if (line.holders && *line.holders != holders && line.active_at) {
      line.active_at = now;
      line.is_watched_since = false;
    }
    line.holders = holders;
  }
}

void GpuTimeline::TakeGrid(const Grid& grid, const Rows& rows, size_t gpu, WallTime now,
                           Line& line) const {
  const Topology& topology = grid.topology();
  std::optional<double> activity;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    if (topology.entities[i].gpu != gpu) {
      continue;
    }
    const EntityId entity{static_cast<uint16_t>(i)};
    const std::optional<double> part = rows.ActivityOf(grid, entity);
    activity = part ? std::max(activity.value_or(0), *part) : activity;
    if (topology.entities[i].kind == EntityKind::kGpu && line.count > 0) {
      line.ring[(line.next + kHistorySamples - 1) % kHistorySamples] = {
          PercentOf(NumberAt(grid, rows.sm, entity), 1),
          PercentOf(NumberAt(grid, rows.utilization, entity), kPercents),
          InUnits(NumberAt(grid, rows.memory_used, entity), kMemoryUnitMib, Sample::kNone),
          InUnits(NumberAt(grid, rows.power, entity), 1, Sample::kNone)};
      line.memory_mib = NumberAt(grid, rows.memory_total, entity).value_or(line.memory_mib);
      line.limit_watts = NumberAt(grid, rows.power_limit, entity).value_or(line.limit_watts);
      if (const auto xid = NumberAt(grid, rows.xid, entity); xid && *xid > 0) {
        line.last_xid = static_cast<int64_t>(*xid);
      }
      if (const auto counter_mj = NumberAt(grid, rows.energy, entity)) {
        TakeEnergy(*counter_mj, line);
      }
    }
  }
  if (!activity) {
    line.active_at.reset();  // Kernels may run that podgpu cannot see.
  } else if (*activity >= kIdleActivity) {
    line.active_at = now;
    line.is_watched_since = false;
  } else if (!line.active_at) {
    line.active_at = now;
    line.is_watched_since = true;
  }
}

// The counter begins again at 0 with the driver.
void GpuTimeline::TakeEnergy(double counter_mj, Line& line) {
  if (line.counter_mj && counter_mj > *line.counter_mj) {
    line.drawn_mj += counter_mj - *line.counter_mj;
  }
  line.counter_mj = counter_mj;
}

const GpuTimeline::Line* GpuTimeline::Find(std::string_view uuid) const {
  const auto found =
      std::ranges::find_if(lines_, [&](const auto& line) { return line->uuid == uuid; });
  return found == lines_.end() ? nullptr : found->get();
}

GpuTimes GpuTimeline::TimesOf(std::string_view uuid) const {
  MutexLock lock(mutex_);
  const Line* const line = Find(uuid);
  if (line == nullptr) {
    return {};
  }
  constexpr double kMillijoules = 1'000;
  return {line->state_since, line->active_at, line->is_watched_since, line->last_xid,
          line->counter_mj ? std::optional(line->drawn_mj / kMillijoules) : std::nullopt};
}

GpuSamples GpuTimeline::SamplesOf(std::string_view uuid) const {
  const auto known = [](uint16_t number) {
    return number == Sample::kNone ? std::nullopt : std::optional<double>(number);
  };
  GpuSamples samples;
  MutexLock lock(mutex_);
  const Line* const line = Find(uuid);
  if (line == nullptr) {
    return samples;
  }
  const size_t count = std::min(line->count, static_cast<size_t>(kShownTime / step_));
  for (size_t i = 0; i < count; ++i) {
    const Sample& sample = line->ring[(line->next + kHistorySamples - count + i) % kHistorySamples];
    samples.sm.push_back(sample.sm);
    samples.utilization.push_back(sample.utilization);
    samples.memory.push_back(PercentOf(known(sample.memory), line->memory_mib / kMemoryUnitMib));
    samples.power.push_back(PercentOf(known(sample.watts), line->limit_watts));
  }
  return samples;
}

}  // namespace podgpu
