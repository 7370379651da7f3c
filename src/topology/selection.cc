#include "topology/selection.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

using Kind = DeviceSelection::Kind;

Status NotANumber(std::string_view token, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrFormat("%s %s", Quoted(token), why));
}

// Parses a number as dcgm-exporter does: decimal, with an optional plus sign.
StatusOr<uint32_t> ParseNumber(std::string_view token) {
  std::string_view digits = token;
  if (digits.starts_with('+')) {
    digits.remove_prefix(1);
  }
  const bool all_digits = !digits.empty() && std::ranges::all_of(digits, [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  if (!all_digits) {
    return NotANumber(token, "is not a number");
  }
  const std::optional<uint64_t> number = ParseDecimal(digits);
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    return NotANumber(token, "is too large for a device number");
  }
  return static_cast<uint32_t>(*number);
}

// Parses one item of a list: "3" or "2-4". "3-1" is an empty range, not an error.
Status ParseItem(std::string_view item, std::vector<IdRange>& ranges) {
  const std::vector<std::string_view> ends = Split(item, '-');
  if (ends.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("range can only be '<number>-<number>', but found %s", Quoted(item)));
  }
  PODGPU_ASSIGN_OR_RETURN(const uint32_t first, ParseNumber(ends.front()));
  PODGPU_ASSIGN_OR_RETURN(const uint32_t last, ParseNumber(ends.back()));
  if (first <= last) {
    ranges.push_back({first, last});
  }
  return absl::OkStatus();
}

std::optional<Kind> KindOf(std::string_view letter) {
  if (letter == "f") {
    return Kind::kFlexible;
  }
  if (letter == "g") {
    return Kind::kGpus;
  }
  if (letter == "i") {
    return Kind::kInstances;
  }
  if (letter == "g+i") {
    return Kind::kGpusAndInstances;
  }
  return std::nullopt;
}

EntityId IdAt(size_t index) { return EntityId{static_cast<uint16_t>(index)}; }

// Returns whether `entity` is a column of this kind with DCGM's `id`.
bool Has(const Topology& topology, EntityId entity, EntityKind kind, uint32_t id) {
  const GpuInstance* instance = topology.InstanceOf(entity);
  if (kind == EntityKind::kGpu) {
    return instance == nullptr && topology.GpuOf(entity).gpu_id == id;
  }
  return instance != nullptr && instance->entity_id == id;
}

void AddAll(const Topology& topology, EntityKind kind, std::vector<EntityId>& entities) {
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    if (topology.entities[i].kind == kind) {
      entities.push_back(IdAt(i));
    }
  }
}

void AddFlexible(const Topology& topology, std::vector<EntityId>& entities) {
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const bool has_instances = i + 1 < topology.entities.size() &&
                               topology.entities[i + 1].kind == EntityKind::kGpuInstance;
    if (topology.entities[i].kind == EntityKind::kGpuInstance || !has_instances) {
      entities.push_back(IdAt(i));
    }
  }
}

// Adds the listed entities in list order. Like dcgm-exporter, selects nothing when one of them is
// absent.
SelectedEntities SelectListed(const DeviceSelection& selection, const Topology& topology,
                              EntityKind kind) {
  SelectedEntities selected;
  for (const IdRange& range : selection.ranges) {
    for (uint32_t id = range.first;; ++id) {
      size_t column = 0;
      while (column < topology.entities.size() && !Has(topology, IdAt(column), kind, id)) {
        ++column;
      }
      if (column == topology.entities.size()) {
        const std::string_view what = kind == EntityKind::kGpu ? "GPU ID" : "GPU instance ID";
        return {{},
                absl::StrFormat("Not collecting GPU metrics; couldn't find requested %s '%d'", what,
                                id)};
      }
      const EntityId entity = IdAt(column);
      if (std::ranges::find(selected.entities, entity) == selected.entities.end()) {
        selected.entities.push_back(entity);
      }
      if (id == range.last) {
        break;
      }
    }
  }
  return selected;
}

// The words for switches or CPUs, and for their links or cores.
struct PartWords {
  PartKind kind;
  PartKind inner;
  std::string_view type, id;
};
constexpr PartWords kSwitchWords = {PartKind::kNvSwitch, PartKind::kNvLink, "NvSwitch",
                                    "NvSwitch ID"};
constexpr PartWords kCpuWords = {PartKind::kCpu, PartKind::kCpuCore, "CPU", "CPU ID"};

void AddColumns(ColumnRange columns, std::vector<EntityId>& ids) {
  for (size_t i = 0; i < columns.count; ++i) {
    ids.push_back(IdAt(columns.first + i));
  }
}

// Adds the listed parts in list order, each once. When one of them is absent, adds a message and no
// part.
void AddListed(const DeviceSelection& selection, const Topology& topology, const PartWords& words,
               std::vector<EntityId>& outer, std::vector<std::string>& missing) {
  std::vector<EntityId> all;
  AddColumns(topology.ColumnsOf(words.kind), all);
  for (const IdRange& range : selection.ranges) {
    for (uint32_t id = range.first;; ++id) {
      const auto found = std::ranges::find_if(
          all, [&](EntityId column) { return topology.PartAt(column).id == id; });
      if (found == all.end()) {
        outer.clear();
        missing.push_back(
            absl::StrFormat("Not collecting %s metrics; couldn't find requested %s "
                            "'%d'",
                            words.type, words.id, id));
        return;
      }
      if (std::ranges::find(outer, *found) == outer.end()) {
        outer.push_back(*found);
      }
      if (id == range.last) {
        break;
      }
    }
  }
}

// Adds the switches or CPUs; with `f` and "g+i" also their links or cores.
void SelectParts(const DeviceSelection& selection, const Topology& topology, const PartWords& words,
                 std::vector<EntityId>& outer, std::vector<EntityId>& inner,
                 std::vector<std::string>& missing) {
  if (selection.kind == Kind::kInstances) {
    return;
  }
  if (!selection.all) {
    AddListed(selection, topology, words, outer, missing);
    return;
  }
  AddColumns(topology.ColumnsOf(words.kind), outer);
  if (selection.kind != Kind::kGpus) {
    AddColumns(topology.ColumnsOf(words.inner), inner);
  }
}

bool IsListed(const DeviceSelection& selection, uint32_t id) {
  return selection.all || std::ranges::any_of(selection.ranges, [&](const IdRange& range) {
           return range.first <= id && id <= range.last;
         });
}

}  // namespace

StatusOr<DeviceSelection> ParseDeviceSelection(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ':');
  if (parts.size() > 2) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Invalid ranged device option %s: there can only be one specified range", Quoted(text)));
  }
  const std::optional<Kind> kind = KindOf(parts[0]);
  if (!kind) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the only valid options preceding ':<range>' are 'g' or 'i', but found %s",
                        Quoted(parts[0])));
  }
  DeviceSelection selection;
  selection.kind = *kind;
  selection.all = parts.size() == 1;
  if (selection.all) {
    return selection;
  }
  if (*kind == Kind::kFlexible) {
    return absl::InvalidArgumentError("no range can be specified with the flex option 'f'");
  }
  if (*kind == Kind::kGpusAndInstances) {
    return absl::InvalidArgumentError("no range can be specified with 'g+i'");
  }
  for (const std::string_view item : Split(parts[1], ',')) {
    PODGPU_RETURN_IF_ERROR(ParseItem(item, selection.ranges));
  }
  return selection;
}

SelectedEntities SelectEntities(const DeviceSelection& selection, const Topology& topology) {
  const EntityKind kind =
      selection.kind == Kind::kInstances ? EntityKind::kGpuInstance : EntityKind::kGpu;
  if (!selection.all) {
    return SelectListed(selection, topology, kind);
  }
  SelectedEntities selected;
  if (selection.kind == Kind::kFlexible) {
    AddFlexible(topology, selected.entities);
    return selected;
  }
  AddAll(topology, kind, selected.entities);
  if (selection.kind == Kind::kGpusAndInstances) {
    AddAll(topology, EntityKind::kGpuInstance, selected.entities);
  }
  return selected;
}

SelectedRows SelectRows(const DeviceSelections& selections, const Topology& topology) {
  SelectedRows rows;
  SelectedEntities devices = SelectEntities(selections.gpus, topology);
  const bool gpu_links = selections.gpus.kind != Kind::kInstances && devices.missing.empty();
  if (!devices.missing.empty()) {
    rows.missing.push_back(std::move(devices.missing));
  }
  rows.devices = std::move(devices.entities);
  std::vector<EntityId> switch_links;
  SelectParts(selections.switches, topology, kSwitchWords, rows.switches, switch_links,
              rows.missing);
  std::vector<EntityId> links;
  AddColumns(topology.ColumnsOf(PartKind::kNvLink), links);
  for (const EntityId link : links) {
    const Part& part = topology.PartAt(link);
    const bool is_shown =
        part.gpu ? gpu_links && IsListed(selections.gpus, topology.gpus[*part.gpu].gpu_id)
                 : !switch_links.empty();
    if (is_shown) {
      rows.links.push_back(link);
    }
  }
  SelectParts(selections.cpus, topology, kCpuWords, rows.cpus, rows.cores, rows.missing);
  return rows;
}

}  // namespace podgpu
