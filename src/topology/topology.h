// The devices of a node: GPUs, their MIG instances, and the parts around them (switches, NVLinks,
// CPUs, cores), all numbered densely.
//
// A Source makes a Topology once per epoch (again when a GPU appears or disappears, or MIG is
// re-partitioned); it never changes afterwards. All later stages name a device by its EntityId, an
// index into `entities`. The same index is the device's column in the grid; the columns of the
// parts follow. Vendor ids and names are stored only here. Plain data: any thread may read a
// published Topology; none may write it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace podgpu {

// Index into Topology::entities; values from entities.size() on index `parts`. Also the column in
// the grid.
struct EntityId {
  uint16_t index = 0;
  auto operator<=>(const EntityId&) const = default;
};

enum class EntityKind : uint8_t { kGpu, kGpuInstance };

// State of a whole GPU.
enum class DeviceState : uint8_t { kOk, kDegraded, kUnresponsive, kLost, kRecovering };

// One physical GPU.
struct Gpu {
  uint32_t gpu_id = 0;        // DCGM's GPU id, the `gpu` label.
  uint32_t minor_number = 0;  // N of /dev/nvidiaN; equals gpu_id when `minor_known` is false.
  bool minor_known = false;   // NVML has returned the minor number.
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
  bool is_misread = false;  // The engine returns the values of another GPU's instance.
};

// One column of the grid: a GPU or a GPU instance.
struct Entity {
  EntityKind kind = EntityKind::kGpu;
  uint16_t gpu = 0;                  // Index into Topology::gpus (the parent, for an instance).
  std::optional<uint16_t> instance;  // Index into Topology::instances, for an instance.
};

// Kinds of parts besides GPUs, in the order of their columns.
enum class PartKind : uint8_t { kNvSwitch, kNvLink, kCpu, kCpuCore };
inline constexpr size_t kPartKindCount = 4;

// One switch, one link that is up, one CPU or one core.
struct Part {
  PartKind kind = PartKind::kNvSwitch;
  uint32_t id = 0;      // DCGM's id; for a link, its index in the GPU or switch, from 0.
  uint32_t parent = 0;  // DCGM's id of the link's switch or the core's CPU.
  std::optional<uint16_t> gpu =
      std::nullopt;  // For the link of a GPU, in place of `parent`: index into Topology::gpus.
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

// The kinds of part that a source must find: only kinds with requested fields.
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
  std::vector<GpuInstance> instances;  // Sorted by GPU, then in the order of DCGM's hierarchy.
  std::vector<Entity> entities;        // Each GPU, directly followed by its instances.
  std::vector<Part> parts;             // Sorted by kind; links of GPUs before those of switches.
  std::string driver_version;
  // Why the source runs without a driver and knows no GPU; empty: it has a driver.
  std::string driver_absence;
  // The source lists its GPUs but samples none, because a client has paused that, as a diagnosis
  // does.
  bool is_paused = false;
  // Why MIG UUIDs could not be read ("libnvidia-ml.so.1 is in none of 6 paths"); empty when NVML
  // answered.
  std::string nvml_absence;
  // Why parts or devices are missing or out of date; empty when all queries were answered.
  std::string parts_absence;

  size_t column_count() const { return entities.size() + parts.size(); }
  // Returns the columns of the parts of these kinds, which are contiguous.
  ColumnRange ColumnsOf(PartKind first, PartKind last) const;
  ColumnRange ColumnsOf(PartKind kind) const { return ColumnsOf(kind, kind); }
  const Part& PartAt(EntityId id) const { return parts[id.index - entities.size()]; }
  const Gpu& GpuOf(EntityId id) const { return gpus[entities[id.index].gpu]; }
  // Returns whether GPU `gpu` is in MIG mode and gives no list of its instances, since it is lost
  // or hangs.
  bool HidesInstancesOf(size_t gpu) const;
  // Returns null for a whole GPU.
  const GpuInstance* InstanceOf(EntityId id) const {
    const std::optional<uint16_t>& instance = entities[id.index].instance;
    return instance ? &instances[*instance] : nullptr;
  }
};

// Fills `entities` from `gpus` and `instances`, which must be sorted as documented above.
void NumberEntities(Topology& topology);

// Returns whether `a` and `b` contain the same GPUs and instances with the same identities. Parts,
// epochs and states are not compared.
bool SameGpus(const Topology& a, const Topology& b);

// Compares like SameGpus, and also the parts.
bool SameDevices(const Topology& a, const Topology& b);

// Returns whether both have the same GPUs, MIG instances and parts, whatever numbers an engine
// gives to the instances.
bool SameHardware(const Topology& a, const Topology& b);

// Given the same devices in `a` and `b`: returns whether the GPUs have the same states and the
// parts have the same absence reason.
bool SameStates(const Topology& a, const Topology& b);

}  // namespace podgpu
