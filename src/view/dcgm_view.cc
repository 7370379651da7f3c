#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "exposition/number.h"
#include "view/view.h"
#include "view/xid.h"

namespace podgpu {
namespace {

constexpr uint16_t kXidField = 230;

using Attributes = std::map<std::string, std::string>;  // std::string orders by bytes.

// The names of labels that changed with dcgm-exporter's 2.0 (`use_old_namespace`: the ones before).
struct LabelNames {
  const char* uuid;
  const char* pod;
  const char* pod_namespace;
  const char* container;
};
constexpr LabelNames kNewNames = {"UUID", "pod", "namespace", "container"};
constexpr LabelNames kOldNames = {"uuid", "pod_name", "pod_namespace", "container_name"};

bool BelongsToGpus(const Field& field) {
  switch (field.level) {
    case FieldLevel::kNone:
    case FieldLevel::kGlobal:
    case FieldLevel::kGpu:
    case FieldLevel::kVgpu:
    case FieldLevel::kGpuInstance:
    case FieldLevel::kComputeInstance:
      return true;
    default:
      return false;
  }
}

// dcgm-exporter's `f` rows: the instances of a GPU that has any, else the GPU itself.
std::vector<EntityId> RowEntities(const Topology& topology) {
  std::vector<bool> partitioned(topology.gpus.size());
  for (const GpuInstance& instance : topology.instances) {
    partitioned[instance.gpu] = true;
  }
  std::vector<EntityId> rows;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const Entity& entity = topology.entities[i];
    if (entity.kind == EntityKind::kGpuInstance || !partitioned[entity.gpu]) {
      rows.push_back(EntityId{static_cast<uint16_t>(i)});
    }
  }
  return rows;
}

// `name` with runs of white space as one '-', and none at its ends.
std::string WithoutBlanks(std::string_view name) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::string joined;
  while (true) {
    name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
    if (name.empty()) {
      return joined;
    }
    const std::string_view word = name.substr(0, name.find_first_of(kBlanks));
    joined += (joined.empty() ? "" : "-") + std::string(word);
    name.remove_prefix(word.size());
  }
}

// The column of the GPU itself; instances directly follow their GPU.
EntityId WholeGpu(const Topology& topology, EntityId entity) {
  while (topology.entities[entity.index].kind != EntityKind::kGpu) {
    --entity.index;
  }
  return entity;
}

// Metrics ascending by field id, then name, type and help.
std::vector<const Counter*> SortedMetrics(const ViewInput& input) {
  std::vector<const Counter*> metrics;
  for (const Counter& counter : input.counters) {
    if (counter.field != nullptr && !counter.is_label() && BelongsToGpus(*counter.field)) {
      metrics.push_back(&counter);
    }
  }
  std::ranges::stable_sort(metrics, [](const Counter* a, const Counter* b) {
    return std::tie(a->field->id, a->name, a->type, a->help) <
           std::tie(b->field->id, b->name, b->type, b->help);
  });
  return metrics;
}

class DcgmRows {
 public:
  DcgmRows(const ViewInput& input, PlanBuilder& plan)
      : input_(input),
        plan_(plan),
        names_(input.options.use_old_namespace ? kOldNames : kNewNames) {}

  void Add() {
    plan_.CountCellsIn(input_.grid);
    for (const EntityId entity : RowEntities(input_.grid.topology())) {
      AddRows(entity);
    }
    for (const Counter* metric : SortedMetrics(input_)) {
      AddMetric(*metric);
    }
  }

 private:
  // An entity with its label block for all metrics but XID, and what that block is made of.
  struct Row {
    EntityId entity;
    uint32_t block = 0;
    std::vector<Label> labels;
    Attributes attributes;
  };

  // The rows of one entity: one, or one for each of its jobs.
  void AddRows(EntityId entity) {
    Row row{.entity = entity, .labels = FixedLabels(entity), .attributes = OwnerOf(entity)};
    for (auto& [name, value] : LabelFields(entity)) {
      row.labels.push_back({name, std::move(value)});
    }
    if (JobsOf(entity).empty()) {
      AddRow(std::move(row));
      return;
    }
    for (const std::string& job : JobsOf(entity)) {
      Row copy = row;
      copy.attributes.emplace("hpc_job", job);
      AddRow(std::move(copy));
    }
  }

  void AddRow(Row row) {
    row.block = Block(row.labels, row.attributes);
    rows_.push_back(std::move(row));
  }

  const std::vector<std::string>& JobsOf(EntityId entity) const {
    static const std::vector<std::string> none;
    const auto& by_entity = input_.owners.jobs_by_entity;
    return entity.index < by_entity.size() ? by_entity[entity.index] : none;
  }

  void AddMetric(const Counter& metric) {
    const std::optional<FieldRow> field = input_.grid.RowOf(metric.field->id);
    if (!field) {
      return;
    }
    plan_.BeginFamily({.name = metric.name,
                       .help = metric.help,
                       .type = metric.type,
                       .unit = "",
                       .format = NumberFormat::kDcgm});
    for (const Row& row : rows_) {
      const size_t cell = input_.grid.CellIndex(*field, row.entity);
      plan_.AddSeries(metric.field->id == kXidField ? XidBlock(row, cell) : row.block,
                      NumberSource::Cell(cell));
    }
  }

  std::vector<Label> FixedLabels(EntityId entity) const {
    const ViewOptions& options = input_.options;
    const Gpu& gpu = input_.grid.topology().GpuOf(entity);
    const std::string id = std::to_string(gpu.gpu_id);
    std::string model = options.replace_blanks_in_model_name ? WithoutBlanks(gpu.model) : gpu.model;
    std::vector<Label> labels = {{"gpu", id},
                                 {names_.uuid, gpu.uuid},
                                 {"pci_bus_id", gpu.pci_bus_id},
                                 {"device", "nvidia" + id},
                                 {"modelName", std::move(model)}};
    if (const GpuInstance* instance = input_.grid.topology().InstanceOf(entity)) {
      labels.push_back({"GPU_I_PROFILE", instance->profile});
      labels.push_back({"GPU_I_ID", std::to_string(instance->gpu_instance_id)});
    }
    if (!options.hostname.empty()) {
      labels.push_back({options.hostname_label, options.hostname});
    }
    return labels;
  }

  Attributes LabelFields(EntityId entity) {
    Attributes labels;
    for (const Counter& counter : input_.counters) {
      if (!counter.is_label() || counter.field == nullptr || !BelongsToGpus(*counter.field)) {
        continue;
      }
      if (std::optional<std::string> value = LabelValue(*counter.field, entity)) {
        labels.emplace(counter.name, *std::move(value));
      }
    }
    return labels;
  }

  // What a label field says of `entity`; what belongs to the whole GPU or host is read there when
  // the instance has no value of its own.
  std::optional<std::string> LabelValue(const Field& field, EntityId entity) {
    const std::optional<FieldRow> row = input_.grid.RowOf(field.id);
    if (!row) {
      return std::nullopt;
    }
    std::optional<std::string> value = CellText(*row, entity);
    const EntityId gpu = WholeGpu(input_.grid.topology(), entity);
    if (!value && gpu != entity &&
        (field.level == FieldLevel::kGpu || field.level == FieldLevel::kGlobal)) {
      value = CellText(*row, gpu);
    }
    return value;
  }

  std::optional<std::string> CellText(FieldRow row, EntityId entity) {
    plan_.DependsOn(input_.grid, static_cast<uint32_t>(input_.grid.CellIndex(row, entity)));
    const Value& value = input_.grid.at(row, entity);
    if (!value.present()) {
      return std::nullopt;
    }
    if (value.kind() == Value::Kind::kText) {
      return input_.grid.text(value);
    }
    std::string number;
    AppendNumber(value, NumberFormat::kDcgm, 1.0, number);
    return number;
  }

  Attributes OwnerOf(EntityId entity) const {
    const auto& by_entity = input_.owners.by_entity;
    if (!input_.options.kubernetes || entity.index >= by_entity.size()) {
      return {};
    }
    const Owner* owner = SoleOwner(by_entity[entity.index]);
    if (owner == nullptr) {
      return {};
    }
    Attributes attributes = {{names_.pod, owner->pod},
                             {names_.pod_namespace, owner->pod_namespace},
                             {names_.container, owner->container}};
    if (input_.options.pod_uid) {
      attributes.emplace("pod_uid", owner->pod_uid);
    }
    return attributes;
  }

  uint32_t Block(std::vector<Label> labels, const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
      labels.push_back({name, value});
    }
    return plan_.AddLabels(RenderLabels(labels));
  }

  // XID rows say their code again, in words.
  uint32_t XidBlock(const Row& row, size_t cell) {
    plan_.DependsOn(input_.grid, static_cast<uint32_t>(cell));
    const Value& value = input_.grid.cells()[cell];
    if (value.kind() != Value::Kind::kInt64) {
      return row.block;
    }
    Attributes attributes = row.attributes;
    attributes.emplace("err_code", std::to_string(value.int64()));
    attributes.emplace("err_msg", XidText(value.int64()));
    return Block(row.labels, attributes);
  }

  const ViewInput& input_;
  PlanBuilder& plan_;
  LabelNames names_;
  std::vector<Row> rows_;
};

}  // namespace

void AddDcgmView(const ViewInput& input, PlanBuilder& plan) { DcgmRows(input, plan).Add(); }

}  // namespace podgpu
