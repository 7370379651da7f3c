// What is in the node: GPUs, their MIG instances, and the parts around them (switches, NVLinks,
// CPUs, cores), with one dense numbering of all.
//
// A Topology is made by a Source once per epoch (a new one when a GPU comes or goes, or MIG is
// re-partitioned) and never changes afterwards.  Everything downstream names a device by its
// EntityId, an index into `entities`; the same index is the column of the device in the grid, and
// the columns of the parts come behind.  Vendor ids and names stay here.  Plain data: any thread
// may read a published Topology; nobody writes one.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace podgpu {

// Index into Topology::entities, or from their number on into `parts`; also the column in the grid.
struct EntityId {
  uint16_t index = 0;
  auto operator<=>(const EntityId&) const = default;
};

enum class EntityKind : uint8_t { kGpu, kGpuInstance };

// What the driver says about a whole GPU (experience: the only state words of a device).
enum class DeviceState : uint8_t { kOk, kDegraded, kUnresponsive, kLost, kRecovering };

// One physical GPU.
struct Gpu {
  uint32_t gpu_id = 0;        // DCGM's GPU id, the `gpu` label.
  uint32_t minor_number = 0;  // N of /dev/nvidiaN; equals gpu_id when `minor_known` is false.
  bool minor_known = false;   // NVML has told the minor number.
  std::string uuid;           // "GPU-..."
  std::string pci_bus_id;     // As DCGM writes it: "00000000:1B:00.0".
  std::string model;          // "NVIDIA H100 80GB HBM3"
  std::string serial;         // Empty where the board has none.
  std::string vbios_version;  // Empty where unknown.
  bool mig_enabled = false;
  DeviceState state = DeviceState::kOk;
};

// One compute instance inside a MIG GPU instance.
struct ComputeInstance {
  uint32_t compute_instance_id = 0;  // NVML's id within the GPU instance.
  uint32_t entity_id = 0;            // DCGM's entity id.
  std::string mig_uuid;              // "MIG-..." from NVML; empty when NVML did not answer.
};

// One MIG GPU instance.
struct GpuInstance {
  uint16_t gpu = 0;              // Index into Topology::gpus of its parent.
  uint32_t gpu_instance_id = 0;  // NVML's id, the `GPU_I_ID` label.
  uint32_t entity_id = 0;        // DCGM's entity id.
  std::string profile;           // "1g.10gb"
  std::vector<ComputeInstance> compute_instances;
  bool is_misread = false;  // The engine takes it for another GPU's, and tells that one's values.
};

// One column of the grid: a GPU or a GPU instance.
struct Entity {
  EntityKind kind = EntityKind::kGpu;
  uint16_t gpu = 0;                  // Index into Topology::gpus (the parent, for an instance).
  std::optional<uint16_t> instance;  // Index into Topology::instances, for an instance.
};

// What a node has beside its GPUs, in the order of their columns.
enum class PartKind : uint8_t { kNvSwitch, kNvLink, kCpu, kCpuCore };
inline constexpr size_t kPartKindCount = 4;

// One switch, one link that is up, one CPU or one core.
struct Part {
  PartKind kind = PartKind::kNvSwitch;
  uint32_t id = 0;      // DCGM's; of a link its index in GPU or switch, from 0.
  uint32_t parent = 0;  // The switch of a link, the CPU of a core, by DCGM's id.
  std::optional<uint16_t> gpu =
      std::nullopt;  // Of a GPU's link in place of `parent`: index into Topology::gpus.
  auto operator<=>(const Part&) const = default;
};

// Columns `first` to `first + count - 1`.
struct ColumnRange {
  size_t first = 0;
  size_t count = 0;
  bool Contains(EntityId column) const {
    return column.index >= first && column.index - first < count;
  }
};

// Which kinds of part a source shall look for: only those that something is asked of.
struct PartKinds {
  bool switches = false;
  bool links = false;
  bool cpus = false;
  bool cores = false;
  bool any() const { return switches || links || cpus || cores; }
  bool operator==(const PartKinds&) const = default;
};

struct Topology {
  uint64_t epoch = 0;                  // Grows by one with every new Topology of a process.
  std::vector<Gpu> gpus;               // Ascending by gpu_id.
  std::vector<GpuInstance> instances;  // By GPU, then in the order of DCGM's hierarchy.
  std::vector<Entity> entities;        // Each GPU, directly followed by its instances.
  std::vector<Part> parts;             // By kind; links of GPUs before those of switches.
  std::string driver_version;
  // Why the source runs without a driver, and so knows no GPU; empty: it has one.
  std::string driver_absence;
  // Why no MIG UUID could be asked for ("libnvidia-ml.so.1 is in none of 6 paths"); empty when NVML
  // answered.
  std::string nvml_absence;
  // Why parts or devices that were looked for are not there, or as last seen; empty when all was
  // answered.
  std::string parts_absence;

  size_t column_count() const { return entities.size() + parts.size(); }
  // The columns of the parts of these kinds, which are contiguous.
  ColumnRange ColumnsOf(PartKind first, PartKind last) const;
  ColumnRange ColumnsOf(PartKind kind) const { return ColumnsOf(kind, kind); }
  const Part& PartAt(EntityId id) const { return parts[id.index - entities.size()]; }
  const Gpu& GpuOf(EntityId id) const { return gpus[entities[id.index].gpu]; }
  // Null for a whole GPU.
  const GpuInstance* InstanceOf(EntityId id) const {
    const std::optional<uint16_t>& instance = entities[id.index].instance;
    return instance ? &instances[*instance] : nullptr;
  }
};

// Fills `entities` from `gpus` and `instances` (which must be sorted as said above).
void NumberEntities(Topology& topology);

// Whether `a` and `b` describe the same GPUs and instances with the same identities; parts, epoch
// and states are not compared.
bool SameGpus(const Topology& a, const Topology& b);

// The same of everything that has a column.
bool SameDevices(const Topology& a, const Topology& b);

// Whether the GPUs of `a` and `b`, which are the same devices, are in the same states, and the
// parts are there, or not, for the same reason.
bool SameStates(const Topology& a, const Topology& b);

}  // namespace podgpu
