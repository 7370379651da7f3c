#include "topology/selection.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

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

// Parses one item of a list: "3" or "2-4".
Status ParseItem(std::string_view item, std::vector<IdRange>& ranges) {
  const std::vector<std::string_view> ends = Split(item, '-');
  if (ends.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("range can only be '<number>-<number>', but found %s", Quoted(item)));
  }
  PODGPU_ASSIGN_OR_RETURN(const uint32_t first, ParseNumber(ends.front()));
  PODGPU_ASSIGN_OR_RETURN(const uint32_t last, ParseNumber(ends.back()));
  if (first > last) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the range %s begins after its end", Quoted(item)));
  }
  ranges.push_back({first, last});
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
  return std::nullopt;
}

// A device string, or one term of a sum.
struct Term {
  Kind kind;
  IdList ids;
};

StatusOr<Term> ParseTerm(std::string_view text) {
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
  Term term{*kind, {parts.size() == 1, {}}};
  if (!term.ids.all && *kind == Kind::kFlexible) {
    return absl::InvalidArgumentError("no range can be specified with the flex option 'f'");
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    for (const std::string_view item : Split(parts[i], ',')) {
      PODGPU_RETURN_IF_ERROR(ParseItem(item, term.ids.ranges));
    }
  }
  return term;
}

DeviceSelection SelectionOf(Term term) {
  DeviceSelection selection{.kind = term.kind, .gpus = {}, .instances = {}};
  (term.kind == Kind::kInstances ? selection.instances : selection.gpus) = std::move(term.ids);
  return selection;
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
void AddListed(const IdList& ids, const Topology& topology, EntityKind kind,
               SelectedEntities& selected) {
  for (const IdRange& range : ids.ranges) {
    for (uint32_t id = range.first;; ++id) {
      size_t column = 0;
      while (column < topology.entities.size() && !Has(topology, IdAt(column), kind, id)) {
        ++column;
      }
      if (column == topology.entities.size()) {
        const std::string_view what = kind == EntityKind::kGpu ? "GPU ID" : "GPU instance ID";
        selected = {{},
                    absl::StrFormat("Not collecting GPU metrics; couldn't find requested %s '%d'",
                                    what, id)};
        return;
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
}

bool IsListed(const IdList& ids, uint32_t id) {
  return ids.all || std::ranges::any_of(ids.ranges, [&](const IdRange& range) {
           return range.first <= id && id <= range.last;
         });
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
void AddListedParts(const IdList& ids, const Topology& topology, const PartWords& words,
                    std::vector<EntityId>& outer, std::vector<std::string>& missing) {
  std::vector<EntityId> all;
  AddColumns(topology.ColumnsOf(words.kind), all);
  for (const IdRange& range : ids.ranges) {
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

// Adds the links of the switches `outer`, or the cores of the CPUs.
void AddInner(const IdList& ids, const Topology& topology, const PartWords& words,
              const std::vector<EntityId>& outer, std::vector<EntityId>& inner) {
  std::vector<EntityId> all;
  AddColumns(topology.ColumnsOf(words.inner), all);
  std::ranges::copy_if(all, std::back_inserter(inner), [&](EntityId column) {
    const Part& part = topology.PartAt(column);
    const bool is_shown = std::ranges::any_of(
        outer, [&](EntityId parent) { return topology.PartAt(parent).id == part.parent; });
    return !part.gpu && is_shown && IsListed(ids, part.id);
  });
}

// Adds the switches or CPUs; with `f` and a sum also their links or cores.
void SelectParts(const DeviceSelection& selection, const Topology& topology, const PartWords& words,
                 std::vector<EntityId>& outer, std::vector<EntityId>& inner,
                 std::vector<std::string>& missing) {
  if (selection.kind == Kind::kInstances) {
    return;
  }
  if (selection.gpus.all) {
    AddColumns(topology.ColumnsOf(words.kind), outer);
  } else {
    AddListedParts(selection.gpus, topology, words, outer, missing);
  }
  if (selection.kind != Kind::kGpus) {
    AddInner(selection.instances, topology, words, outer, inner);
  }
}

}  // namespace

// A plus sign may also stand before a number, so only "+g", "+i" and "+f" begin a second term.
StatusOr<DeviceSelection> ParseDeviceSelection(std::string_view text) {
  const size_t plus = std::min({text.find("+g"), text.find("+i"), text.find("+f")});
  PODGPU_ASSIGN_OR_RETURN(Term first, ParseTerm(text.substr(0, plus)));
  if (plus == std::string_view::npos) {
    return SelectionOf(std::move(first));
  }
  PODGPU_ASSIGN_OR_RETURN(Term second, ParseTerm(text.substr(plus + 1)));
  if (first.kind == Kind::kFlexible || second.kind == Kind::kFlexible) {
    return absl::InvalidArgumentError("the flex option 'f' cannot be part of a sum");
  }
  if (first.kind == second.kind) {
    return absl::InvalidArgumentError("a sum must have one part 'g' and one part 'i'");
  }
  const bool gpus_first = first.kind == Kind::kGpus;
  return DeviceSelection{.kind = Kind::kGpusAndInstances,
                         .gpus = std::move(gpus_first ? first.ids : second.ids),
                         .instances = std::move(gpus_first ? second.ids : first.ids)};
}

SelectedEntities SelectEntities(const DeviceSelection& selection, const Topology& topology) {
  SelectedEntities selected;
  if (selection.kind == Kind::kFlexible) {
    AddFlexible(topology, selected.entities);
    return selected;
  }
  const auto add = [&](const IdList& ids, EntityKind kind) {
    if (ids.all) {
      AddAll(topology, kind, selected.entities);
    } else {
      AddListed(ids, topology, kind, selected);
    }
  };
  if (selection.kind != Kind::kInstances) {
    add(selection.gpus, EntityKind::kGpu);
  }
  if (selection.kind != Kind::kGpus && selected.missing.empty()) {
    add(selection.instances, EntityKind::kGpuInstance);
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
        part.gpu ? gpu_links && IsListed(selections.gpus.gpus, topology.gpus[*part.gpu].gpu_id)
                 : std::ranges::find(switch_links, link) != switch_links.end();
    if (is_shown) {
      rows.links.push_back(link);
    }
  }
  SelectParts(selections.cpus, topology, kCpuWords, rows.cpus, rows.cores, rows.missing);
  return rows;
}

}  // namespace podgpu
