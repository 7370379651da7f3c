#include "sample/columns.h"

#include <algorithm>
#include <iterator>

namespace podgpu {
namespace {

struct PartLevel {
  FieldLevel level;
  PartKind first, last;
};
constexpr PartLevel kPartLevels[] = {
    {FieldLevel::kSwitch, PartKind::kNvSwitch, PartKind::kNvSwitch},
    {FieldLevel::kLink, PartKind::kNvSwitch, PartKind::kNvLink},
    {FieldLevel::kCpu, PartKind::kCpu, PartKind::kCpu},
    {FieldLevel::kCpuCore, PartKind::kCpu, PartKind::kCpuCore},
};

}  // namespace

ColumnRange ColumnsFor(FieldLevel level, const Topology& topology) {
  for (const PartLevel& row : kPartLevels) {
    if (row.level == level) {
      return topology.ColumnsOf(row.first, row.last);
    }
  }
  return {0, topology.entities.size()};
}

bool IsReadOn(FieldLevel level, PartKind kind) {
  for (const PartLevel& row : kPartLevels) {
    if (row.level == level) {
      return row.first <= kind && kind <= row.last;
    }
  }
  return false;
}

bool IsPartLevel(FieldLevel level) {
  return std::ranges::find(kPartLevels, level, &PartLevel::level) != std::end(kPartLevels);
}

PartKinds PartsFor(const std::vector<const Field*>& fields) {
  PartKinds kinds;
  for (const Field* field : fields) {
    kinds.switches = kinds.switches || IsReadOn(field->level, PartKind::kNvSwitch);
    kinds.links = kinds.links || IsReadOn(field->level, PartKind::kNvLink);
    kinds.cpus = kinds.cpus || IsReadOn(field->level, PartKind::kCpu);
    kinds.cores = kinds.cores || IsReadOn(field->level, PartKind::kCpuCore);
  }
  return kinds;
}

}  // namespace podgpu
