#include "pages/dump_json.h"

#include <iterator>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "exposition/number.h"
#include "fields/field_ids.h"
#include "sample/columns.h"
#include "topology/selection.h"
#include "view/xid.h"

namespace podgpu {
namespace {

namespace json = boost::json;

// `value` with an indent of two blanks per level, as Go's encoding/json writes it.
void AppendIndented(const json::value& value, size_t depth, std::string& out) {
  const auto line = [&](size_t levels) { out.append("\n").append(2 * levels, ' '); };
  if (const json::object* object = value.if_object(); object != nullptr && !object->empty()) {
    char separator = '{';
    for (const json::key_value_pair& member : *object) {
      out += std::exchange(separator, ',');
      line(depth + 1);
      out.append(json::serialize(json::string(member.key()))).append(": ");
      AppendIndented(member.value(), depth + 1, out);
    }
    line(depth);
    out += '}';
  } else if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
    char separator = '[';
    for (const json::value& item : *array) {
      out += std::exchange(separator, ',');
      line(depth + 1);
      AppendIndented(item, depth + 1, out);
    }
    line(depth);
    out += ']';
  } else {
    out += json::serialize(value);
  }
}

std::string Indented(const json::object& object) {
  std::string text;
  AppendIndented(object, 0, text);
  return text + "\n";
}

// Adds `text` unless it is empty.
void AddText(json::object& to, std::string_view name, std::string_view text) {
  if (!text.empty()) {
    to[json::string_view(name.data(), name.size())] = json::string_view(text.data(), text.size());
  }
}

// Returns an empty text where there is no value.
std::string ValueText(const Grid& grid, const Value& value) {
  std::string text;
  if (value.kind() == Value::Kind::kText) {
    text = grid.text(value);
  } else if (value.present()) {
    AppendNumber(value, NumberFormat::kDcgm, 1, text);
  }
  return text;
}

const std::vector<EntityId>& ColumnsIn(const SelectedRows& rows, DumpGroup group) {
  switch (group) {
    case DumpGroup::kGpu:
      return rows.devices;
    case DumpGroup::kNvSwitch:
      return rows.switches;
    case DumpGroup::kNvLink:
      return rows.links;
    case DumpGroup::kCpu:
      return rows.cpus;
    case DumpGroup::kCpuCore:
      break;
  }
  return rows.cores;
}

void AddGpuIdentity(const Topology& topology, EntityId column, bool old_names, json::object& row) {
  const Gpu& gpu = topology.GpuOf(column);
  AddText(row, "gpu", std::to_string(gpu.gpu_id));
  AddText(row, "gpu_uuid", gpu.uuid);
  AddText(row, "gpu_device", absl::StrFormat("nvidia%d", gpu.gpu_id));
  AddText(row, "gpu_model", gpu.model);
  AddText(row, "pci_bus_id", gpu.pci_bus_id);
  AddText(row, "uuid", old_names ? "uuid" : "UUID");
  if (const GpuInstance* instance = topology.InstanceOf(column)) {
    AddText(row, "mig_profile", instance->profile);
    AddText(row, "gpu_instance_id", std::to_string(instance->gpu_instance_id));
  }
}

void AddPartIdentity(const Topology& topology, EntityId column, json::object& row) {
  const Part& part = topology.PartAt(column);
  switch (part.kind) {
    case PartKind::kNvSwitch:
      AddText(row, "nv_switch", absl::StrFormat("nvswitch%d", part.id));
      return;
    case PartKind::kNvLink:
      AddText(row, "nv_link", std::to_string(part.gpu ? part.id + 1 : part.id));
      if (part.gpu) {
        AddText(row, "gpu", std::to_string(topology.gpus[*part.gpu].gpu_id));
        AddText(row, "gpu_uuid", topology.gpus[*part.gpu].uuid);
      } else {
        AddText(row, "nv_switch", absl::StrFormat("nvswitch%d", part.parent));
      }
      AddText(row, "parent_type", part.gpu ? "GPU" : "NvSwitch");
      return;
    case PartKind::kCpu:
      AddText(row, "gpu", std::to_string(part.id));
      return;
    case PartKind::kCpuCore:
      AddText(row, "gpu", std::to_string(part.id));
      AddText(row, "gpu_device", std::to_string(part.parent));
      return;
  }
}

// Returns the cell of a field of the list on this column; null if the grid has none.
const Value* CellOf(const Grid& grid, const Counter& counter, EntityId column) {
  const auto row = counter.field == nullptr ? std::nullopt : grid.RowOf(counter.field->id);
  return row && grid.ColumnsOf(*row).Contains(column) ? &grid.at(*row, column) : nullptr;
}

json::object LabelsOf(const DumpInput& input, EntityId column) {
  json::object labels;
  for (const Counter& counter : input.counters) {
    const Value* const value = counter.is_label() ? CellOf(input.grid, counter, column) : nullptr;
    if (value != nullptr && value->present()) {
      AddText(labels, counter.name, ValueText(input.grid, *value));
    }
  }
  return labels;
}

json::object RowOf(const DumpInput& input, const Counter& counter, EntityId column,
                   const Value& value) {
  const Topology& topology = input.grid.topology();
  json::object row;
  row["counter"] = {{"field_id", counter.field->id},
                    {"field_name", counter.name},
                    {"prom_type", counter.type},
                    {"help", counter.help}};
  row["value"] = ValueText(input.grid, value);
  if (column.index < topology.entities.size()) {
    AddGpuIdentity(topology, column, input.options.use_old_namespace, row);
  } else {
    AddPartIdentity(topology, column, row);
  }
  row["hostname"] = input.options.hostname;
  row["labels"] = LabelsOf(input, column);
  json::object attributes;
  if (counter.field->id == field_ids::kXid && value.kind() == Value::Kind::kInt64) {
    AddText(attributes, "err_code", std::to_string(value.int64()));
    AddText(attributes, "err_msg", XidText(value.int64()));
  }
  row["attributes"] = std::move(attributes);
  return row;
}

std::string IdText(const IdList& ids) {
  std::string text;
  char separator = ':';
  for (const IdRange& range : ids.ranges) {
    absl::StrAppendFormat(&text, "%c%d-%d", std::exchange(separator, ','), range.first, range.last);
  }
  return text;
}

// Returns the selection in the syntax of the command line.
std::string SelectionText(const DeviceSelection& selection) {
  using Kind = DeviceSelection::Kind;
  switch (selection.kind) {
    case Kind::kFlexible:
      return "f";
    case Kind::kGpus:
      return "g" + IdText(selection.gpus);
    case Kind::kInstances:
      return "i" + IdText(selection.instances);
    case Kind::kGpusAndInstances:
      break;
  }
  return "g" + IdText(selection.gpus) + "+i" + IdText(selection.instances);
}

json::array PartIds(const Topology& topology, PartKind kind) {
  json::array ids;
  const ColumnRange columns = topology.ColumnsOf(kind);
  for (size_t i = columns.first; i < columns.first + columns.count; ++i) {
    ids.emplace_back(topology.PartAt(EntityId{static_cast<uint16_t>(i)}).id);
  }
  return ids;
}

}  // namespace

std::string_view DumpGroupName(DumpGroup group) {
  constexpr std::string_view kNames[] = {"GPU", "NvSwitch", "NvLink", "CPU", "CPU Core"};
  return kNames[static_cast<size_t>(group)];
}

std::string MetricsDump(const DumpInput& input, DumpGroup group) {
  const SelectedRows rows = SelectRows(input.options.selections, input.grid.topology());
  json::object metrics;
  for (const Counter& counter : input.counters) {
    json::array values;
    for (const EntityId column : ColumnsIn(rows, group)) {
      const Value* const value = counter.is_label() ? nullptr : CellOf(input.grid, counter, column);
      if (value != nullptr && value->present()) {
        values.push_back(RowOf(input, counter, column, *value));
      }
    }
    if (!values.empty()) {
      metrics[counter.name] = std::move(values);
    }
  }
  return metrics.empty() ? std::string() : Indented({{"metrics", std::move(metrics)}});
}

std::string DeviceInfoDump(const DumpInput& input, DumpGroup group) {
  const Topology& topology = input.grid.topology();
  json::array gpus;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    json::object device;
    AddGpuIdentity(topology, EntityId{static_cast<uint16_t>(i)}, input.options.use_old_namespace,
                   device);
    gpus.push_back(std::move(device));
  }
  const DeviceSelections& selections = input.options.selections;
  return Indented({{"gpu_count", topology.gpus.size()},
                   {"gpus", std::move(gpus)},
                   {"switches", PartIds(topology, PartKind::kNvSwitch)},
                   {"cpus", PartIds(topology, PartKind::kCpu)},
                   {"gpu_options", SelectionText(selections.gpus)},
                   {"switch_options", SelectionText(selections.switches)},
                   {"cpu_options", SelectionText(selections.cpus)},
                   {"info_type", std::string(DumpGroupName(group))}});
}

}  // namespace podgpu
