#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "exposition/number.h"
#include "sample/columns.h"
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

// Names that a row may have whatever the pod is; those that change are in LabelNames.
constexpr std::string_view kReservedNames =
    " gpu pci_bus_id device modelName GPU_I_PROFILE GPU_I_ID nvlink nvswitch gpu_uuid model_name "
    "pod_uid vgpu hpc_job err_code err_msg dra_claim_name dra_claim_namespace dra_driver_name "
    "dra_pool_name dra_device_name dra_mig_profile dra_mig_device_uuid ";

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

// Whether a field stands in the group of `kind`, or (nothing) of GPUs and the host.  A field of
// links that a switch has too stands with the links.
bool BelongsTo(const Field& field, std::optional<PartKind> kind) {
  if (kind == PartKind::kNvSwitch) {
    return field.level == FieldLevel::kSwitch;
  }
  return kind ? IsReadOn(field.level, *kind)
              : !IsPartLevel(field.level) && field.level != FieldLevel::kConnectX;
}

// The column of the GPU itself; instances directly follow their GPU.
EntityId WholeGpu(const Topology& topology, EntityId entity) {
  while (topology.entities[entity.index].kind != EntityKind::kGpu) {
    --entity.index;
  }
  return entity;
}

// The metrics that `kind` has (nothing: GPUs), ascending by field id, then name, type and help.
std::vector<const Counter*> SortedMetrics(const ViewInput& input, std::optional<PartKind> kind) {
  std::vector<const Counter*> metrics;
  for (const Counter& counter : input.counters) {
    if (counter.field != nullptr && !counter.is_label() && BelongsTo(*counter.field, kind)) {
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
        topology_(input.grid.topology()),
        names_(input.options.use_old_namespace ? kOldNames : kNewNames) {}

  void Add() {
    plan_.CountCellsIn(input_.grid);
    SelectedRows selected = SelectRows(input_.options.selections, topology_);
    AddGroup(std::nullopt, selected.devices);
    AddGroup(PartKind::kNvSwitch, selected.switches);
    selected.links.insert(selected.links.begin(), selected.switches.begin(),
                          selected.switches.end());
    AddGroup(PartKind::kNvLink, selected.links);
    AddGroup(PartKind::kCpu, selected.cpus);
    AddGroup(PartKind::kCpuCore, selected.cores);
  }

 private:
  // An entity with its label block for all metrics but XID, and what that block is made of.
  struct Row {
    EntityId entity;
    uint32_t block = 0;
    std::vector<Label> labels;
    Attributes attributes;
  };

  // The rows of one kind of entity; of GPUs and instances when there is no `kind`.
  void AddGroup(std::optional<PartKind> kind, const std::vector<EntityId>& entities) {
    const std::vector<const Counter*> metrics = SortedMetrics(input_, kind);
    if (metrics.empty() || entities.empty()) {
      return;
    }
    std::vector<Row> rows;
    rows.reserve(entities.size());
    for (const EntityId entity : entities) {
      kind ? AddPartRows(entity, rows) : AddDeviceRows(entity, rows);
    }
    for (const Counter* metric : metrics) {
      AddMetric(*metric, rows);
    }
  }

  void AddDeviceRows(EntityId entity, std::vector<Row>& rows) {
    Row row{.entity = entity, .labels = FixedLabels(entity), .attributes = {}};
    for (auto& [name, value] : WithPodLabels(LabelFields(entity), entity)) {
      row.labels.push_back({name, std::move(value)});
    }
    AddOwned(std::move(row), entity, rows);
  }

  // Of all parts only the links of GPUs have owners, those of the GPU.
  void AddPartRows(EntityId entity, std::vector<Row>& rows) {
    const Part& part = topology_.PartAt(entity);
    Row row{.entity = entity, .labels = PartLabels(part), .attributes = {}};
    Attributes fields = PartLabelFields(entity);
    if (part.gpu) {
      fields = WithPodLabels(std::move(fields), GpuColumn(*part.gpu));
    }
    for (auto& [name, value] : fields) {
      row.labels.push_back({name, std::move(value)});
    }
    if (part.gpu) {
      AddOwned(std::move(row), GpuColumn(*part.gpu), rows);
    } else {
      AddRow(std::move(row), rows);
    }
  }

  // The row with the owner of `device`: one, or one for each of its jobs.
  void AddOwned(Row row, EntityId device, std::vector<Row>& rows) {
    row.attributes = OwnerOf(device);
    if (JobsOf(device).empty()) {
      AddRow(std::move(row), rows);
      return;
    }
    for (const std::string& job : JobsOf(device)) {
      Row copy = row;
      copy.attributes.emplace("hpc_job", job);
      AddRow(std::move(copy), rows);
    }
  }

  // With the labels of the pod that has `device`.  What is on the row already keeps its name: a pod
  // label that would take it is left out, since no name may stand twice on a row.
  Attributes WithPodLabels(Attributes labels, EntityId device) const {
    if (const Owner* owner = OwnerIn(device)) {
      for (const auto& [name, value] : owner->labels) {
        if (!IsReserved(name)) {
          labels.emplace(name, value);
        }
      }
    }
    return labels;
  }

  bool IsReserved(const std::string& name) const {
    return name == names_.uuid || name == names_.pod || name == names_.pod_namespace ||
           name == names_.container || name == "hostname" ||
           name == input_.options.hostname_label ||
           kReservedNames.find(" " + name + " ") != std::string_view::npos;
  }

  void AddRow(Row row, std::vector<Row>& rows) {
    row.block = Block(row.labels, row.attributes);
    rows.push_back(std::move(row));
  }

  const std::vector<std::string>& JobsOf(EntityId entity) const {
    static const std::vector<std::string> none;
    const auto& by_entity = input_.owners.jobs_by_entity;
    return entity.index < by_entity.size() ? by_entity[entity.index] : none;
  }

  void AddMetric(const Counter& metric, const std::vector<Row>& rows) {
    const std::optional<FieldRow> field = input_.grid.RowOf(metric.field->id);
    if (!field) {
      return;
    }
    plan_.BeginFamily({.name = metric.name,
                       .help = metric.help,
                       .type = metric.type,
                       .unit = "",
                       .format = NumberFormat::kDcgm});
    for (const Row& row : rows) {
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

  std::vector<Label> PartLabels(const Part& part) const {
    const std::string id = std::to_string(part.id);
    const std::string parent = std::to_string(part.parent);
    std::vector<Label> labels;
    switch (part.kind) {
      case PartKind::kNvSwitch:
        labels = {{"nvswitch", "nvswitch" + id}};
        break;
      case PartKind::kNvLink:
        labels = LinkLabels(part);
        break;
      case PartKind::kCpu:
        labels = {{"cpu", id}};
        break;
      case PartKind::kCpuCore:
        labels = {{"cpucore", id}, {"cpu", parent}};
        break;
    }
    if (!input_.options.hostname.empty()) {
      // Releases that write "Hostname" elsewhere write "hostname" on links.
      const bool is_link = part.kind == PartKind::kNvLink;
      labels.push_back(
          {is_link ? "hostname" : input_.options.hostname_label, input_.options.hostname});
    }
    return labels;
  }

  // Upstream counts the links of a GPU from 1, those of a switch from 0.
  std::vector<Label> LinkLabels(const Part& link) const {
    if (!link.gpu) {
      return {{"nvlink", std::to_string(link.id)},
              {"nvswitch", "nvswitch" + std::to_string(link.parent)}};
    }
    const Gpu& gpu = topology_.gpus[*link.gpu];
    const std::string id = std::to_string(gpu.gpu_id);
    std::vector<Label> labels = {{"nvlink", std::to_string(link.id + 1)}, {"gpu", id}};
    const Label others[] = {{"gpu_uuid", gpu.uuid},
                            {"pci_bus_id", gpu.pci_bus_id},
                            {"device", "nvidia" + id},
                            {"model_name", gpu.model}};
    std::ranges::copy_if(others, std::back_inserter(labels),
                         [](const Label& label) { return !label.value.empty(); });
    return labels;
  }

  EntityId GpuColumn(uint16_t gpu) const {
    const auto found = std::ranges::find(topology_.entities, gpu, &Entity::gpu);
    return EntityId{static_cast<uint16_t>(found - topology_.entities.begin())};
  }

  // Label fields of the part itself, and those of the host.
  Attributes PartLabelFields(EntityId entity) {
    Attributes labels;
    for (const Counter& counter : input_.counters) {
      if (!counter.is_label() || counter.field == nullptr) {
        continue;
      }
      const std::optional<FieldRow> row = input_.grid.RowOf(counter.field->id);
      std::optional<std::string> value;
      if (row && input_.grid.ColumnsOf(*row).Contains(entity)) {
        value = CellText(*row, entity);
      } else if (row && counter.field->scope() == FieldScope::kGlobal) {
        value = HostText(*row);
      }
      if (value) {
        labels.emplace(counter.name, *std::move(value));
      }
    }
    return labels;
  }

  // What any GPU has been told of the host.
  std::optional<std::string> HostText(FieldRow row) {
    for (size_t i = 0; i < topology_.entities.size(); ++i) {
      if (auto text = CellText(row, EntityId{static_cast<uint16_t>(i)})) {
        return text;
      }
    }
    return std::nullopt;
  }

  Attributes LabelFields(EntityId entity) {
    Attributes labels;
    for (const Counter& counter : input_.counters) {
      if (!counter.is_label() || counter.field == nullptr ||
          !BelongsTo(*counter.field, std::nullopt)) {
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

  // The owner that the rows of `entity` name; null when there is none.
  const Owner* OwnerIn(EntityId entity) const {
    const auto& by_entity = input_.owners.by_entity;
    if (!input_.options.kubernetes || entity.index >= by_entity.size()) {
      return nullptr;
    }
    return SoleOwner(by_entity[entity.index]);
  }

  Attributes OwnerOf(EntityId entity) const {
    const Owner* owner = OwnerIn(entity);
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
  const Topology& topology_;
  LabelNames names_;
};

}  // namespace

void AddDcgmView(const ViewInput& input, PlanBuilder& plan) { DcgmRows(input, plan).Add(); }

}  // namespace podgpu
