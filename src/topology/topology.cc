#include "topology/topology.h"

#include <algorithm>
#include <tuple>

#include "base/status.h"

namespace podgpu {
namespace {

// The facts that identify a GPU: all but its state.
auto Identity(const Gpu& gpu) {
  return std::tie(gpu.gpu_id, gpu.minor_number, gpu.minor_known, gpu.uuid, gpu.pci_bus_id,
                  gpu.model, gpu.serial, gpu.vbios_version, gpu.mig_enabled);
}

bool SameCompute(const ComputeInstance& a, const ComputeInstance& b) {
  return a.compute_instance_id == b.compute_instance_id && a.entity_id == b.entity_id &&
         a.mig_uuid == b.mig_uuid;
}

bool SameInstance(const GpuInstance& a, const GpuInstance& b) {
  return a.gpu == b.gpu && a.gpu_instance_id == b.gpu_instance_id && a.entity_id == b.entity_id &&
         a.profile == b.profile && a.is_misread == b.is_misread &&
         std::ranges::equal(a.compute_instances, b.compute_instances, SameCompute);
}

bool SameSlice(const GpuInstance& a, const GpuInstance& b) {
  return a.gpu == b.gpu && a.gpu_instance_id == b.gpu_instance_id && a.profile == b.profile &&
         std::ranges::equal(a.compute_instances, b.compute_instances, {},
                            &ComputeInstance::compute_instance_id,
                            &ComputeInstance::compute_instance_id);
}

bool SameGpu(const Gpu& a, const Gpu& b) { return Identity(a) == Identity(b); }

}  // namespace

void NumberEntities(Topology& topology) {
  PODGPU_CHECK(std::ranges::is_sorted(topology.gpus, {}, &Gpu::gpu_id));
  PODGPU_CHECK(std::ranges::is_sorted(topology.instances, {}, &GpuInstance::gpu));
  topology.entities.clear();
  size_t instance = 0;
  for (size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
    topology.entities.push_back({EntityKind::kGpu, static_cast<uint16_t>(gpu), {}});
    for (; instance < topology.instances.size() && topology.instances[instance].gpu == gpu;
         ++instance) {
      topology.entities.push_back(
          {EntityKind::kGpuInstance, static_cast<uint16_t>(gpu), static_cast<uint16_t>(instance)});
    }
  }
  PODGPU_CHECK(instance == topology.instances.size());
}

bool SameGpus(const Topology& a, const Topology& b) {
  return std::ranges::equal(a.gpus, b.gpus, SameGpu) &&
         std::ranges::equal(a.instances, b.instances, SameInstance) &&
         a.driver_version == b.driver_version && a.nvml_absence == b.nvml_absence;
}

bool SameDevices(const Topology& a, const Topology& b) {
  return SameGpus(a, b) && a.parts == b.parts;
}

bool SameHardware(const Topology& a, const Topology& b) {
  return std::ranges::equal(a.gpus, b.gpus, SameGpu) &&
         std::ranges::equal(a.instances, b.instances, SameSlice) && a.parts == b.parts;
}

bool SameStates(const Topology& a, const Topology& b) {
  return std::ranges::equal(a.gpus, b.gpus, {}, &Gpu::state, &Gpu::state) &&
         a.parts_absence == b.parts_absence && a.driver_absence == b.driver_absence &&
         a.is_paused == b.is_paused;
}

bool Topology::HidesInstancesOf(size_t gpu) const {
  const DeviceState state = gpus[gpu].state;
  return gpus[gpu].mig_enabled &&
         (state == DeviceState::kLost || state == DeviceState::kUnresponsive) &&
         std::ranges::find(instances, gpu, &GpuInstance::gpu) == instances.end();
}

ColumnRange Topology::ColumnsOf(PartKind first, PartKind last) const {
  const auto begin = std::ranges::lower_bound(parts, first, {}, &Part::kind);
  const auto end = std::ranges::upper_bound(begin, parts.end(), last, {}, &Part::kind);
  return {entities.size() + static_cast<size_t>(begin - parts.begin()),
          static_cast<size_t>(end - begin)};
}

}  // namespace podgpu
