#include "view/dcgm_findings.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "view/finding_slots.h"
#include "view/health_codes.h"

namespace podgpu {
namespace {

using Labels = std::map<std::string, std::string>;

// Names of the bits of field 112, as dcgm-exporter writes them.
constexpr std::array<std::string_view, kClockEventCount> kClockEventNames = {
    "gpu_idle",   "clocks_setting", "power_cap",      "hw_slowdown",   "sync_boost",
    "sw_thermal", "hw_thermal",     "hw_power_brake", "display_clocks"};

constexpr std::array<std::string_view, kHealthWatchCount> kHealthWatchNames = {
    "PCIE", "NVLINK", "PMU", "MCU", "MEM", "SM", "INFOROM", "THERMAL", "POWER", "DRIVER", "ALL"};

// Names of the link states; all higher numbers are unknown.
constexpr std::array<std::string_view, 6> kWayNames = {"OK",
                                                       "ChipsetNotSupported",
                                                       "GPUNotSupported",
                                                       "TopologyNotSupported",
                                                       "DisabledByRegKey",
                                                       "NotSupported"};

class FindingRows {
 public:
  FindingRows(const ViewInput& input, const GpuBlocks& blocks, PlanBuilder& plan)
      : input_(input),
        findings_(input.grid.findings),
        slots_(findings_, input.first_finding_slot),
        blocks_(blocks),
        plan_(plan) {}

  void Add(const Counter& counter, ExporterCounter own, const std::vector<EntityId>& gpus) {
    plan_.BeginFamily({.name = counter.name,
                       .help = counter.help,
                       .type = counter.type,
                       .unit = "",
                       .format = input_.options.version->numbers});
    for (const EntityId gpu : gpus) {
      const size_t index = input_.grid.topology().entities[gpu.index].gpu;
      switch (own) {
        case ExporterCounter::kXidErrors:
          AddXids(gpu, index);
          break;
        case ExporterCounter::kClockEvents:
          AddClockEvents(gpu, index);
          break;
        case ExporterCounter::kHealth:
          AddHealth(gpu, index);
          break;
        case ExporterCounter::kPeers:
          AddPeers(gpu, index);
          break;
        case ExporterCounter::kXidErrorsTotal:
          AddXidTotals(gpu, index);
          break;
        case ExporterCounter::kClockEventsTotal:
          AddClockEventTotals(gpu, index);
          break;
      }
    }
  }

 private:
  void AddRow(EntityId gpu, const Labels& more, uint32_t slot) {
    for (const uint32_t block : blocks_(gpu, more)) {
      plan_.AddSeries(block, NumberSource::Slot(slot));
    }
  }

  static Labels Window(std::chrono::milliseconds window) {
    return {{"window_size_in_ms", std::to_string(window.count())}};
  }

  void AddXids(EntityId gpu, size_t index) {
    if (index >= findings_.gpus.size()) {
      return;
    }
    Labels labels = Window(findings_.asked.xid_window);
    AddRow(gpu, labels, slots_.XidZero(index));
    for (size_t i = 0; i < findings_.xids.size(); ++i) {
      if (findings_.xids[i].gpu == index) {
        labels["xid"] = std::to_string(findings_.xids[i].code);
        AddRow(gpu, labels, slots_.XidsInWindow(i));
      }
    }
  }

  void AddClockEvents(EntityId gpu, size_t index) {
    if (index >= findings_.gpus.size()) {
      return;
    }
    Labels labels = Window(findings_.asked.clock_window);
    AddRow(gpu, labels, slots_.ClockZero(index));
    for (size_t bit = 0; bit < kClockEventCount; ++bit) {
      labels["clock_event"] = kClockEventNames[bit];
      AddRow(gpu, labels, slots_.ClockEvent(index, bit));
    }
  }

  // Dcgm-exporter has no row before the first event, and none for the code 0.
  void AddXidTotals(EntityId gpu, size_t index) {
    for (size_t i = 0; i < findings_.xids.size(); ++i) {
      if (findings_.xids[i].gpu == index && findings_.xids[i].code != 0) {
        AddRow(gpu, {{"xid", std::to_string(findings_.xids[i].code)}}, slots_.XidTotal(i));
      }
    }
  }

  void AddClockEventTotals(EntityId gpu, size_t index) {
    for (size_t bit = 0; index < findings_.gpus.size() && bit < kClockEventCount; ++bit) {
      AddRow(gpu, {{"clock_event", std::string(kClockEventNames[bit])}},
             slots_.ClockEventTotal(index, bit));
    }
  }

  void AddHealth(EntityId gpu, size_t index) {
    for (size_t watch = 0; index < findings_.health.size() && watch < kHealthWatchCount; ++watch) {
      const HealthVerdict& verdict = findings_.health[index].watches[watch];
      Labels labels = {{"health_error_code", HealthCodeName(verdict.code)},
                       {"health_watch", std::string(kHealthWatchNames[watch])}};
      if (input_.options.version->has_health_kinds) {
        labels["health_error_category"] = HealthCategoryName(verdict);
        labels["health_error_severity"] = HealthSeverityName(verdict);
      }
      AddRow(gpu, labels, slots_.Health(index, watch));
    }
  }

  void AddPeers(EntityId gpu, size_t index) {
    const std::vector<Gpu>& gpus = input_.grid.topology().gpus;
    if (findings_.peers.size() != gpus.size() * gpus.size()) {
      return;
    }
    for (size_t peer = 0; peer < gpus.size(); ++peer) {
      const size_t way = index * gpus.size() + peer;
      if (peer != index) {
        const auto state = static_cast<size_t>(findings_.peers[way]);
        AddRow(
            gpu,
            {{"link_status", std::string(state < kWayNames.size() ? kWayNames[state] : "Unknown")},
             {"peer_gpu", std::to_string(gpus[peer].gpu_id)}},
            slots_.Peer(way));
      }
    }
  }

  const ViewInput& input_;
  const Findings& findings_;
  const FindingSlots slots_;
  const GpuBlocks& blocks_;
  PlanBuilder& plan_;
};

// Returns the column of the GPU of each of `devices` (GPUs or instances), each column once.
std::vector<EntityId> WholeGpus(const Topology& topology, const std::vector<EntityId>& devices) {
  std::set<uint16_t> gpus;
  for (const EntityId device : devices) {
    gpus.insert(topology.entities[device.index].gpu);
  }
  std::vector<EntityId> columns;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const Entity& entity = topology.entities[i];
    if (entity.kind == EntityKind::kGpu && gpus.contains(entity.gpu)) {
      columns.push_back(EntityId{static_cast<uint16_t>(i)});
    }
  }
  return columns;
}

}  // namespace

void AddDcgmFindings(const ViewInput& input, const std::vector<EntityId>& devices,
                     const GpuBlocks& blocks, PlanBuilder& plan) {
  std::vector<std::pair<ExporterCounter, const Counter*>> counters;
  for (const Counter& counter : input.counters) {
    if (counter.own) {
      counters.emplace_back(*counter.own, &counter);
    }
  }
  std::ranges::stable_sort(counters, {}, [](const auto& own) { return own.first; });
  const Topology& topology = input.grid.topology();
  std::vector<EntityId> all;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    all.push_back(EntityId{static_cast<uint16_t>(i)});
  }
  const std::vector<EntityId> every_gpu = WholeGpus(topology, all);
  const std::vector<EntityId> gpus = WholeGpus(topology, devices);
  FindingRows rows(input, blocks, plan);
  for (const auto& [own, counter] : counters) {
    const bool of_every_gpu = own == ExporterCounter::kHealth || own == ExporterCounter::kPeers;
    rows.Add(*counter, own, of_every_gpu ? every_gpu : gpus);
  }
}

}  // namespace podgpu
