#include "sim/world/world.h"

#include <algorithm>
#include <cstring>

#include "sim/world/image.h"
#include "sim/world/image_world.h"

namespace podgpu::sim {

namespace {

GpuFacts FactsOf(const ImageTables& tables, const GpuRecord& record) {
  const auto has = [&record](uint32_t flag) { return (record.flags & flag) != 0; };
  GpuFacts facts;
  facts.uuid = tables.Text(record.uuid);
  facts.pci_bus_id = tables.Text(record.pci_bus_id);
  facts.serial = tables.Text(record.serial);
  facts.model = tables.Text(record.model);
  facts.brand = tables.Text(record.brand);
  facts.vbios = tables.Text(record.vbios);
  facts.inforom_image = tables.Text(record.inforom_image);
  facts.architecture = tables.Text(record.architecture);
  facts.minor_number = record.minor_number;
  facts.compute_major = record.compute_major;
  facts.compute_minor = record.compute_minor;
  facts.architecture_number = record.architecture_number;
  facts.idle_mw = record.idle_mw;
  facts.limit_mw = facts.default_limit_mw = record.limit_mw;
  facts.min_limit_mw = record.min_limit_mw;
  facts.max_limit_mw = record.max_limit_mw;
  facts.memory_total_bytes = record.memory_total_bytes;
  facts.memory_reserved_bytes = record.memory_reserved_bytes;
  facts.bar1_total_bytes = record.bar1_total_bytes;
  facts.max_sm_clock_mhz = record.max_sm_clock_mhz;
  facts.max_memory_clock_mhz = record.max_memory_clock_mhz;
  facts.idle_sm_clock_mhz = record.idle_sm_clock_mhz;
  facts.slowdown_temperature_c = record.slowdown_temperature_c;
  facts.shutdown_temperature_c = record.shutdown_temperature_c;
  facts.nvlink_count = record.nvlink_count;
  facts.pcie_generation = record.pcie_generation;
  facts.pcie_width = record.pcie_width;
  facts.sm_count = record.sm_count;
  facts.has_gpm = has(kHasGpm);
  facts.has_memory_temperature = has(kHasMemoryTemperature);
  facts.has_jpeg_ofa = has(kHasJpegOfa);
  facts.has_row_remapping = has(kHasRowRemapping);
  facts.has_retired_pages = has(kHasRetiredPages);
  facts.has_ecc = has(kHasEcc);
  facts.has_fan = has(kHasFan);
  facts.mig_capable = has(kMigCapable);
  facts.power_is_average = has(kPowerIsAverage);
  facts.shared_by_mps = has(kSharedByMps);
  return facts;
}

}  // namespace

std::unique_ptr<World> World::Open(std::span<const std::byte> image, std::string& error) {
  ImageTables tables;
  if (!ReadTables(image, tables, error)) {
    return nullptr;
  }
  ImageHeader header{};
  std::memcpy(&header, image.data(), sizeof header);
  return std::make_unique<ImageWorld>(tables, header.scenario_hash);
}

ImageWorld::ImageWorld(const ImageTables& tables, uint64_t scenario_hash)
    : tables_(tables), node_(tables.node.front()), scenario_hash_(scenario_hash) {
  for (const GpuRecord& record : tables_.gpus) {
    facts_.push_back(FactsOf(tables_, record));
  }
  ReadFaults();
}

bool ImageWorld::kubelet_has(std::string_view version) const {
  return (version == "v1" && Has(kNodeHasV1)) || (version == "v1alpha1" && Has(kNodeHasV1Alpha1));
}

const EraRecord& ImageWorld::EraAt(const GpuRecord& gpu, TimeUs t) const {
  const auto eras = ImageTables::Slice(tables_.eras, gpu.eras);
  const auto after =
      std::upper_bound(eras.begin() + 1, eras.end(), t,
                       [](TimeUs time, const EraRecord& era) { return time < era.start_us; });
  return *(after - 1);
}

const LayoutRecord& ImageWorld::LayoutAt(int gpu, TimeUs t) const {
  return tables_.layouts[EraAt(Gpu(gpu), t).layout];
}

bool ImageWorld::mig_enabled(int gpu, TimeUs t) const { return LayoutAt(gpu, t).mig_enabled != 0; }

int ImageWorld::instance_count(int gpu, TimeUs t) const {
  return static_cast<int>(LayoutAt(gpu, t).instances.count);
}

GpuInstanceFacts ImageWorld::instance(int gpu, int instance, TimeUs t) const {
  const auto instances = ImageTables::Slice(tables_.instances, LayoutAt(gpu, t).instances);
  if (instance < 0 || static_cast<size_t>(instance) >= instances.size()) {
    return {};
  }
  const InstanceRecord& record = instances[static_cast<size_t>(instance)];
  return {.gpu_instance_id = record.gpu_instance_id,
          .dcgm_entity_id = record.dcgm_entity_id,
          .compute_slices = record.compute_slices,
          .memory_slices = record.memory_slices,
          .placement_start = record.placement_start,
          .profile_id = record.profile_id,
          .sm_count = record.sm_count,
          .memory_total_bytes = record.memory_total_bytes,
          .memory_reserved_bytes = record.memory_reserved_bytes,
          .profile = tables_.Text(record.profile)};
}

int ImageWorld::compute_count(int gpu, int instance, TimeUs t) const {
  const auto instances = ImageTables::Slice(tables_.instances, LayoutAt(gpu, t).instances);
  if (instance < 0 || static_cast<size_t>(instance) >= instances.size()) {
    return 0;
  }
  return static_cast<int>(instances[static_cast<size_t>(instance)].computes.count);
}

ComputeInstanceFacts ImageWorld::compute(int gpu, int instance, int compute, TimeUs t) const {
  if (compute < 0 || compute >= compute_count(gpu, instance, t)) {
    return {};
  }
  const LayoutRecord& layout = LayoutAt(gpu, t);
  const InstanceRecord& parent =
      tables_.instances[layout.instances.first + static_cast<uint32_t>(instance)];
  const ComputeRecord& record =
      tables_.computes[parent.computes.first + static_cast<uint32_t>(compute)];
  return {.compute_instance_id = record.compute_instance_id,
          .dcgm_entity_id = record.dcgm_entity_id,
          .slices = record.slices,
          .mig_uuid = tables_.Text(record.mig_uuid),
          .profile = tables_.Text(record.profile)};
}

}  // namespace podgpu::sim
