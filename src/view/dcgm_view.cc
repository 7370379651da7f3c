#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

#include "exposition/number.h"
#include "fields/base_units.h"
#include "fields/field_ids.h"
#include "sample/columns.h"
#include "view/dcgm_findings.h"
#include "view/row_owners.h"
#include "view/view.h"
#include "view/xid.h"

namespace podgpu {
namespace {

// Returns `name` with each run of white space replaced by one '-', and without white space at its
// ends.
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

// Returns whether a field belongs to the group of `kind`, or to GPUs and the host if `kind` is
// empty.  A field that links and switches both have belongs to the links.
bool BelongsTo(const Field& field, std::optional<PartKind> kind) {
  if (kind == PartKind::kNvSwitch) {
    return field.level == FieldLevel::kSwitch;
  }
  return kind ? IsReadOn(field.level, *kind)
              : !IsPartLevel(field.level) && field.level != FieldLevel::kConnectX;
}

// Returns the column of the GPU itself; its instances follow it directly.
EntityId WholeGpu(const Topology& topology, EntityId entity) {
  while (topology.entities[entity.index].kind != EntityKind::kGpu) {
    --entity.index;
  }
  return entity;
}

// Returns the metrics of `kind` (empty: GPUs), ascending by field id, then name, type and help.
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
      : input_(input), plan_(plan), topology_(input.grid.topology()), owners_(input) {}

  void Add() {
    plan_.CountCellsIn(input_.grid);
    const size_t first_family = plan_.family_count();
    SelectedRows selected = SelectRows(input_.options.selections, topology_);
    AddGroup(std::nullopt, selected.devices);
    AddDcgmFindings(
        input_, selected.devices,
        [this](EntityId gpu, const Attributes& more) { return BlocksOf(gpu, more); }, plan_);
    AddGroup(PartKind::kNvSwitch, selected.switches);
    selected.links.insert(selected.links.begin(), selected.switches.begin(),
                          selected.switches.end());
    AddGroup(PartKind::kNvLink, selected.links);
    AddGroup(PartKind::kCpu, selected.cpus);
    AddGroup(PartKind::kCpuCore, selected.cores);
    if (input_.options.version->is_sorted) {
      plan_.SortFamilies(first_family);
    }
  }

 private:
  // An entity with its label block for all metrics except XID, and the parts of that block.
  struct Row {
    EntityId entity;
    uint32_t block = 0;
    // The same with the id of the compute instance, for metrics that are read on one.
    std::optional<uint32_t> compute_block;
    std::vector<Label> labels;
    RowOwner owner;
  };

  // Adds the rows of one kind of entity; of GPUs and instances if `kind` is empty.
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

  // Returns the label blocks of the rows of `entity` with the additional labels `more`.
  std::vector<uint32_t> BlocksOf(EntityId entity, const Attributes& more) {
    std::vector<Row> rows;
    AddDeviceRows(entity, rows, more);
    std::vector<uint32_t> blocks;
    for (const Row& row : rows) {
      if (row.owner.metrics != RowOwner::Metrics::kPerPod) {
        blocks.push_back(row.block);
      }
    }
    return blocks;
  }

  void AddDeviceRows(EntityId entity, std::vector<Row>& rows, const Attributes& more = {}) {
    Row row{.entity = entity, .compute_block = {}, .labels = FixedLabels(entity), .owner = {}};
    Attributes fields = LabelFields(entity);
    fields.insert(more.begin(), more.end());
    for (auto& [name, value] : owners_.WithPodLabels(std::move(fields), entity)) {
      row.labels.push_back({name, std::move(value)});
    }
    AddOwned(row, entity, rows);
  }

  // Only links of GPUs have owners: the owners of the GPU.  Other parts have none.
  void AddPartRows(EntityId entity, std::vector<Row>& rows) {
    const Part& part = topology_.PartAt(entity);
    Row row{.entity = entity, .compute_block = {}, .labels = PartLabels(part), .owner = {}};
    Attributes fields = PartLabelFields(entity);
    if (part.gpu) {
      fields = owners_.WithPodLabels(std::move(fields), GpuColumn(*part.gpu));
    }
    for (auto& [name, value] : fields) {
      row.labels.push_back({name, std::move(value)});
    }
    if (part.gpu) {
      AddOwned(row, GpuColumn(*part.gpu), rows);
    } else {
      AddRow(std::move(row), rows);
    }
  }

  // Adds the row with the owner of `device`, or one copy for each owner that shares it.
  void AddOwned(const Row& row, EntityId device, std::vector<Row>& rows) {
    for (RowOwner& owner : owners_.Of(device)) {
      Row copy = row;
      copy.owner = std::move(owner);
      AddRow(std::move(copy), rows);
    }
  }

  void AddRow(Row row, std::vector<Row>& rows) {
    row.block = Block(row.labels, row.owner.attributes);
    if (const std::optional<Label> id = ComputeInstanceOf(row.entity)) {
      std::vector<Label> labels = row.labels;
      const auto gpu_instance = std::ranges::find(labels, "GPU_I_ID", &Label::name);
      labels.insert(gpu_instance + 1, *id);
      row.compute_block = Block(std::move(labels), row.owner.attributes);
    }
    rows.push_back(std::move(row));
  }

  // A row of an instance with several compute instances is about all of them, so it names none.
  std::optional<Label> ComputeInstanceOf(EntityId entity) const {
    const GpuInstance* instance =
        input_.options.version->has_compute_instance_ids && entity.index < topology_.entities.size()
            ? topology_.InstanceOf(entity)
            : nullptr;
    if (instance == nullptr || instance->compute_instances.size() != 1) {
      return std::nullopt;
    }
    return Label{"GPU_CI_ID",
                 std::to_string(instance->compute_instances.front().compute_instance_id)};
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
                       .format = input_.options.version->numbers});
    for (const Row& row : rows) {
      if (!Has(row, metric.field->id)) {
        continue;
      }
      if (row.owner.pod != nullptr) {
        AddPodValue(metric.field->id, row);
        continue;
      }
      const size_t cell = input_.grid.CellIndex(*field, row.entity);
      plan_.AddSeries(BlockFor(metric, row, cell), NumberSource::Cell(cell));
    }
  }

  uint32_t BlockFor(const Counter& metric, const Row& row, size_t cell) {
    if (metric.field->id == field_ids::kXid) {
      return XidBlock(row, cell);
    }
    return metric.field->level == FieldLevel::kComputeInstance
               ? row.compute_block.value_or(row.block)
               : row.block;
  }

  static bool Has(const Row& row, uint16_t field_id) {
    return row.owner.metrics == RowOwner::Metrics::kAll ||
           (row.owner.metrics == RowOwner::Metrics::kPerPod) == IsPerPodField(field_id);
  }

  // The number of one pod's processes on the device; never the number of the device itself.
  void AddPodValue(uint16_t field_id, const Row& row) {
    const Owner& pod = *row.owner.pod;
    const BaseUnit* unit = BaseUnitOf(field_id);  // The slots are in the old units.
    if (field_id == field_ids::kGpuUtilRatio && input_.grid.findings.util_ratio_is_percent) {
      unit = &kUtilRatioInPercent;
    }
    const PodSlotKey key{unit != nullptr ? unit->old_id : field_id, row.entity.index,
                         pod.pod_namespace, pod.pod};
    if (input_.pod_slots != nullptr && input_.pod_slots->contains(key)) {
      const double scale =
          unit == nullptr ? 1.0
                          : static_cast<double>(unit->factor) / static_cast<double>(unit->divisor);
      plan_.AddSeries(row.block, NumberSource::Slot(input_.pod_slots->at(key)), scale);
    } else {
      plan_.CountUnknownPodValue();
    }
  }

  std::vector<Label> FixedLabels(EntityId entity) const {
    const ViewOptions& options = input_.options;
    const Gpu& gpu = input_.grid.topology().GpuOf(entity);
    const std::string id = std::to_string(gpu.gpu_id);
    std::string model = options.replace_blanks_in_model_name ? WithoutBlanks(gpu.model) : gpu.model;
    std::vector<Label> labels = {{"gpu", id},
                                 {owners_.names().uuid, gpu.uuid},
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
      // dcgm-exporter releases that write "Hostname" on other rows write "hostname" on links.
      const bool is_link = part.kind == PartKind::kNvLink;
      labels.push_back(
          {is_link ? "hostname" : input_.options.hostname_label, input_.options.hostname});
    }
    return labels;
  }

  // dcgm-exporter counts the links of a GPU from 1, and those of a switch from 0.
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

  // Returns the label fields of the part itself and of the host.
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

  // Label fields of the host, from any GPU that has them.
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

  // Returns the value of a label field for `entity`.  An instance without a value of its own takes
  // the value of its GPU or of the host.
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

  uint32_t Block(std::vector<Label> labels, const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
      labels.push_back({name, value});
    }
    return plan_.AddLabels(RenderLabels(labels),
                           input_.options.version->is_sorted ? SortKeyOf(labels) : std::string());
  }

  // XID rows have their code again, as text.
  uint32_t XidBlock(const Row& row, size_t cell) {
    plan_.DependsOn(input_.grid, static_cast<uint32_t>(cell));
    const Value& value = input_.grid.cells()[cell];
    if (value.kind() != Value::Kind::kInt64) {
      return row.block;
    }
    Attributes attributes = row.owner.attributes;
    attributes.emplace("err_code", std::to_string(value.int64()));
    attributes.emplace("err_msg", XidText(value.int64()));
    return Block(row.labels, attributes);
  }

  const ViewInput& input_;
  PlanBuilder& plan_;
  const Topology& topology_;
  const RowOwners owners_;
};

}  // namespace

void AddDcgmView(const ViewInput& input, PlanBuilder& plan) { DcgmRows(input, plan).Add(); }

}  // namespace podgpu
