#include "tests/node_fixture.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

Gpu MakeGpu(size_t index, bool mig_enabled) {
  const auto digit = static_cast<char>('1' + index % 9);
  Gpu gpu;
  gpu.gpu_id = static_cast<uint32_t>(index);
  gpu.minor_number = gpu.gpu_id;
  gpu.uuid = "GPU-" + std::string(8, digit) + "-1111-1111-1111-111111111111";
  std::replace(gpu.uuid.begin() + 4, gpu.uuid.end(), '1', digit);
  if (index >= 9) {
    gpu.uuid += absl::StrFormat("%02x", index);
  }
  gpu.pci_bus_id = absl::StrFormat("00000000:%02X:00.0", 0x1B + 0x28 * index % 0xE0);
  gpu.model = "NVIDIA H100 80GB HBM3";
  gpu.mig_enabled = mig_enabled;
  return gpu;
}

Value MakeValue(Grid& grid, const Field& field, size_t column) {
  switch (field.type) {
    case FieldType::kInt64:
      return Value::OfInt64(static_cast<int64_t>(field.id * 7 + column));
    case FieldType::kDouble:
      return Value::OfDouble(field.id / 16.0 + static_cast<double>(column) + 0.123457);
    case FieldType::kString:
      return Value::OfText(grid.InternText("text of " + std::string(field.name)));
    default:
      return Value::OfAbsence(Absence::kNotSupported);
  }
}

}  // namespace

std::shared_ptr<const Topology> MakeTopology(size_t gpu_count, size_t instances_per_gpu) {
  auto topology = std::make_shared<Topology>();
  topology->epoch = 1;
  topology->driver_version = "580.95.05";
  for (size_t gpu = 0; gpu < gpu_count; ++gpu) {
    topology->gpus.push_back(MakeGpu(gpu, instances_per_gpu > 0));
    for (size_t i = 0; i < instances_per_gpu; ++i) {
      GpuInstance instance;
      instance.gpu = static_cast<uint16_t>(gpu);
      instance.gpu_instance_id = static_cast<uint32_t>(7 + i);
      instance.entity_id = static_cast<uint32_t>(gpu * 7 + i);
      instance.profile = "1g.10gb";
      topology->instances.push_back(std::move(instance));
    }
  }
  NumberEntities(*topology);
  return topology;
}

std::vector<const Field*> FieldsOf(const std::vector<Counter>& counters,
                                   const std::vector<uint16_t>& more_ids) {
  std::set<uint16_t> ids(more_ids.begin(), more_ids.end());
  for (const Counter& counter : counters) {
    if (counter.field != nullptr) {
      ids.insert(counter.field->id);
    }
  }
  std::vector<const Field*> fields;
  std::ranges::transform(ids, std::back_inserter(fields), FindField);
  return fields;
}

Grid FilledGrid(std::shared_ptr<const Topology> topology, std::vector<const Field*> fields) {
  Grid grid(std::move(topology), std::move(fields));
  for (size_t row = 0; row < grid.fields().size(); ++row) {
    const ColumnRange columns = grid.ColumnsOf(FieldRow{static_cast<uint16_t>(row)});
    for (size_t column = columns.first; column < columns.first + columns.count; ++column) {
      grid.at(FieldRow{static_cast<uint16_t>(row)}, EntityId{static_cast<uint16_t>(column)}) =
          MakeValue(grid, *grid.fields()[row], column);
    }
  }
  return grid;
}

Owners OwnersFor(const Topology& topology, size_t pods_per_entity) {
  Owners owners;
  owners.by_entity.resize(topology.entities.size());
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    const Entity& entity = topology.entities[i];
    if (entity.kind == EntityKind::kGpu && topology.gpus[entity.gpu].mig_enabled) {
      continue;
    }
    for (size_t pod = 0; pod < pods_per_entity; ++pod) {
      Owner owner;
      owner.pod_namespace = "ml";
      owner.pod = absl::StrFormat("train-%d-%d", i, pod);
      owner.container = "main";
      owner.resource = "nvidia.com/gpu";
      owner.replica = pods_per_entity > 1 ? std::to_string(pod) : "";
      owners.by_entity[i].push_back(std::move(owner));
    }
  }
  return owners;
}

std::vector<Counter> CountersOf(std::string_view csv) {
  StatusOr<Counters> parsed = ParseCounters(csv, "counters.csv");
  PODGPU_CHECK(parsed.ok());
  return std::move(parsed->counters);
}

}  // namespace podgpu
