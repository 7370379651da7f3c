#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

#include "fields/field_ids.h"
#include "view/finding_slots.h"
#include "view/held_measures.h"
#include "view/native_table.h"
#include "view/pod_xids.h"
#include "view/view.h"
#include "view/xid.h"

namespace podgpu {
namespace {

enum InfoFamily : size_t { kGpuInfo, kInstanceInfo, kAllocationInfo };

struct InfoRow {
  std::string_view name, help, labels;
};
constexpr std::array<InfoRow, 3> kInfoFamilies = {{
    {"podgpu_gpu_info", "Facts about a GPU; always 1. Join on UUID.",
     "gpu,UUID,hostname,model,pci_bus_id,device,serial,vbios_version,driver_version,mig"},
    {"podgpu_gpu_instance_info", "Facts about a MIG instance; always 1. Join on UUID and GPU_I_ID.",
     "gpu,UUID,GPU_I_ID,profile"},
    {"podgpu_allocation_info",
     "A container that holds a GPU or MIG instance; always 1. shared is true if it holds one of "
     "several replicas, or if other containers hold the same device. Join on UUID and GPU_I_ID.",
     "gpu,UUID,GPU_I_ID,namespace,pod,pod_uid,container,resource,claim,shared"},
}};

// The families of XIDs by code.
Family XidTotals() {
  return {.name = "podgpu_gpu_xid_errors_total",
          .help =
              "XIDs of this code that the driver has reported since podgpu began to listen. action "
              "is the "
              "recommended first step: none, restart_app, reset_gpu, reboot_node or investigate.",
          .type = "counter",
          .unit = ""};
}
Family XidTimes() {
  return {.name = "podgpu_gpu_xid_last_timestamp_seconds",
          .help =
              "When the driver reported the last XID of this code, in seconds since 1970; it may "
              "be from before podgpu began to listen.",
          .type = "gauge",
          .unit = "seconds"};
}

Family Described(const InfoRow& row) {
  return {
      .name = std::string(row.name), .help = std::string(row.help), .type = "gauge", .unit = ""};
}

Family Described(const Measure& measure) {
  return {.name = std::string(measure.name),
          .help = std::string(measure.help),
          .type = std::string(measure.type),
          .unit = std::string(measure.unit),
          .format = NumberFormat::kShortest,
          .scale = measure.scale};
}

// The labels that BlockOf writes.
std::string LabelsOf(const Measure& measure) {
  const std::string labels = measure.instances ? "gpu,UUID,GPU_I_ID" : "gpu,UUID";
  const bool is_scoped = measure.instances && measure.extra_label.empty();
  const std::string last(is_scoped ? "scope" : measure.extra_label);
  return last.empty() ? labels : labels + "," + last;
}

// An empty label has no information, so it is left out.
void AddKnown(std::vector<Label>& labels, const char* name, const std::string& value) {
  if (!value.empty()) {
    labels.push_back({name, value});
  }
}

class NativeRows {
 public:
  NativeRows(const ViewInput& input, PlanBuilder& plan)
      : input_(input), topology_(input.grid.topology()), plan_(plan) {
    plan_.CountCellsIn(input_.grid);
    partitioned_.reserve(topology_.gpus.size());
    for (const Gpu& gpu : topology_.gpus) {
      partitioned_.push_back(gpu.mig_enabled);
    }
  }

  void AddCore() {
    AddGpuInfo();
    AddInstanceInfo();
    AddAllocationInfo();
    AddXids();
  }

  void AddMeasures() {
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      const EntityId entity{static_cast<uint16_t>(i)};
      plain_blocks_.push_back(plan_.AddLabels(RenderLabels(Identity(entity))));
      scoped_blocks_.push_back(plan_.AddLabels(RenderLabels(ScopedIdentity(entity))));
    }
    for (size_t i = 0; i < Measures().size(); ++i) {
      AddMeasure(i);
    }
  }

 private:
  bool IsInstance(size_t entity) const {
    return topology_.entities[entity].kind == EntityKind::kGpuInstance;
  }

  std::vector<Label> Identity(EntityId entity) const {
    const Gpu& gpu = topology_.GpuOf(entity);
    std::vector<Label> labels = {{"gpu", std::to_string(gpu.gpu_id)}, {"UUID", gpu.uuid}};
    if (const GpuInstance* instance = topology_.InstanceOf(entity)) {
      labels.push_back({"GPU_I_ID", std::to_string(instance->gpu_instance_id)});
    }
    return labels;
  }

  std::vector<Label> ScopedIdentity(EntityId entity) const {
    std::vector<Label> labels = Identity(entity);
    labels.push_back({"scope", IsInstance(entity.index) ? "instance" : "device"});
    return labels;
  }

  void AddOne(const std::vector<Label>& labels) {
    plan_.AddSeries(plan_.AddLabels(RenderLabels(labels)), NumberSource::One());
  }

  void AddGpuInfo() {
    plan_.BeginFamily(Described(kInfoFamilies[kGpuInfo]));
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      if (IsInstance(i)) {
        continue;
      }
      const EntityId entity{static_cast<uint16_t>(i)};
      const Gpu& gpu = topology_.GpuOf(entity);
      std::vector<Label> labels = Identity(entity);
      AddKnown(labels, "hostname", input_.options.hostname);
      AddKnown(labels, "model", gpu.model);
      AddKnown(labels, "pci_bus_id", gpu.pci_bus_id);
      AddKnown(labels, "device", "nvidia" + std::to_string(gpu.minor_number));
      AddKnown(labels, "serial", gpu.serial);
      AddKnown(labels, "vbios_version", gpu.vbios_version);
      AddKnown(labels, "driver_version", topology_.driver_version);
      AddKnown(labels, "mig", gpu.mig_enabled ? "true" : "false");
      AddOne(labels);
    }
  }

  void AddInstanceInfo() {
    plan_.BeginFamily(Described(kInfoFamilies[kInstanceInfo]));
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      const EntityId entity{static_cast<uint16_t>(i)};
      if (const GpuInstance* instance = topology_.InstanceOf(entity)) {
        std::vector<Label> labels = Identity(entity);
        AddKnown(labels, "profile", instance->profile);
        AddOne(labels);
      }
    }
  }

  void AddAllocationInfo() {
    plan_.BeginFamily(Described(kInfoFamilies[kAllocationInfo]));
    const auto& by_entity = input_.owners.by_entity;
    for (size_t i = 0; i < std::min(topology_.entities.size(), by_entity.size()); ++i) {
      const EntityId entity{static_cast<uint16_t>(i)};
      std::set<std::string> seen;  // A container may hold several replicas of one device.
      const bool has_others = SoleOwner(by_entity[i]) == nullptr;
      for (const Owner& owner : by_entity[i]) {
        const bool is_shared = has_others || !owner.replica.empty();
        std::string rendered = RenderLabels(AllocationLabels(entity, owner, is_shared));
        if (seen.insert(rendered).second) {
          plan_.AddSeries(plan_.AddLabels(std::move(rendered)), NumberSource::One());
        }
      }
    }
  }

  std::vector<Label> AllocationLabels(EntityId entity, const Owner& owner, bool is_shared) const {
    std::vector<Label> labels = Identity(entity);
    AddKnown(labels, "namespace", owner.pod_namespace);
    AddKnown(labels, "pod", owner.pod);
    AddKnown(labels, "pod_uid", owner.pod_uid);
    AddKnown(labels, "container", owner.container);
    AddKnown(labels, "resource", owner.resource);
    AddKnown(labels, "claim", owner.claim.name);
    AddKnown(labels, "shared", is_shared ? "true" : "false");
    return labels;
  }

  bool IsMeasured(size_t index, size_t entity) const {
    const Measure& measure = Measures()[index];
    if (measure.shown == Shown::kOnceSeen && !HasHeld(index, entity)) {
      return false;
    }
    const bool partitioned = partitioned_[topology_.entities[entity].gpu];
    if ((measure.on == MeasuredOn::kWholeGpus && partitioned) ||
        (measure.on == MeasuredOn::kPartitionedGpus && !partitioned)) {
      return false;
    }
    return measure.instances || !IsInstance(entity);
  }

  bool HasHeld(size_t index, size_t entity) const {
    const Gpu& gpu = topology_.GpuOf(EntityId{static_cast<uint16_t>(entity)});
    return input_.held != nullptr && input_.held->Has(gpu.uuid, index);
  }

  uint32_t BlockOf(const Measure& measure, size_t entity) {
    if (measure.extra_label.empty()) {
      return measure.instances ? scoped_blocks_[entity] : plain_blocks_[entity];
    }
    std::vector<Label> labels = Identity(EntityId{static_cast<uint16_t>(entity)});
    labels.push_back({std::string(measure.extra_label), std::string(measure.extra_value)});
    return plan_.AddLabels(RenderLabels(labels));
  }

  static NumberSource SourceOf(const Measure& measure, size_t cell) {
    if (measure.bit) {
      return NumberSource::Bit(cell, *measure.bit);
    }
    return measure.word ? NumberSource::Word(cell, *measure.word) : NumberSource::Cell(cell);
  }

  void AddMeasure(size_t index) {
    const Measure& measure = Measures()[index];
    const std::optional<FieldRow> row = input_.grid.RowOf(measure.field_id);
    if (!row) {
      return;
    }
    plan_.BeginFamily(Described(measure));
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      if (!IsMeasured(index, i)) {
        continue;
      }
      const size_t cell = input_.grid.CellIndex(*row, EntityId{static_cast<uint16_t>(i)});
      plan_.AddSeries(BlockOf(measure, i), SourceOf(measure, cell));
    }
  }

  // Adds the series of reported codes; code 0 means that no XID was reported.
  void AddXids() {
    const Findings& findings = input_.grid.findings;
    const XidSlots slots(findings, input_.first_finding_slot);
    std::vector<uint32_t> blocks;
    for (const XidCount& xid : findings.xids) {
      const Gpu& gpu = topology_.gpus[xid.gpu];
      blocks.push_back(
          plan_.AddLabels(RenderLabels({{"gpu", std::to_string(gpu.gpu_id)},
                                        {"UUID", gpu.uuid},
                                        {"xid", std::to_string(xid.code)},
                                        {"action", std::string(XidAction(xid.code))}})));
    }
    for (const bool times : {false, true}) {
      plan_.BeginFamily(times ? XidTimes() : XidTotals());
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (findings.xids[i].code > 0) {
          plan_.AddSeries(blocks[i],
                          NumberSource::Slot(times ? slots.LastSeconds(i) : slots.Total(i)));
        }
      }
    }
  }

  const ViewInput& input_;
  const Topology& topology_;
  PlanBuilder& plan_;
  std::vector<bool> partitioned_;                       // For each GPU: whether MIG is on.
  std::vector<uint32_t> plain_blocks_, scoped_blocks_;  // One for each entity.
};

}  // namespace

void AddCoreView(const ViewInput& input, PlanBuilder& plan) { NativeRows(input, plan).AddCore(); }

void AddMeasures(const ViewInput& input, PlanBuilder& plan) {
  NativeRows(input, plan).AddMeasures();
}

std::vector<uint16_t> CoreFieldIds() {
  return {field_ids::kClockReasons, field_ids::kXid, field_ids::kRemapFailed,
          field_ids::kRemapPending};
}

std::vector<uint16_t> NativeFieldIds() {
  std::set<uint16_t> ids = {field_ids::kXid};
  for (const Measure& measure : Measures()) {
    ids.insert(measure.field_id);
  }
  return {ids.begin(), ids.end()};
}

std::vector<FamilyDoc> CoreFamilies() {
  std::vector<FamilyDoc> families;
  families.reserve(kInfoFamilies.size() + 2);
  for (const InfoRow& row : kInfoFamilies) {
    families.push_back({Described(row), std::string(row.labels)});
  }
  for (const Family& family : {XidTotals(), XidTimes()}) {
    families.push_back({family, "gpu,UUID,xid,action", {field_ids::kXid}});
  }
  return families;
}

std::vector<FamilyDoc> MeasureFamilies() {
  std::vector<FamilyDoc> families;
  for (const Measure& measure : Measures()) {
    if (families.empty() || families.back().family.name != measure.name) {
      families.push_back({Described(measure), LabelsOf(measure)});
    }
    std::vector<uint16_t>& ids = families.back().field_ids;
    if (std::ranges::find(ids, measure.field_id) == ids.end()) {
      ids.push_back(measure.field_id);
    }
  }
  return families;
}

}  // namespace podgpu
