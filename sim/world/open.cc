// Opens an image: reads the header and the directory, and checks every index once, so evaluation
// needs no checks.
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "sim/world/image_world.h"

namespace podgpu::sim {

namespace {

constexpr TimeUs kMinimumPeriodUs = 1;

template <typename Record>
bool ReadSection(std::span<const std::byte> image, const ImageHeader& header, Section section,
                 std::span<const Record>& records) {
  const SectionEntry& entry = header.sections.at(static_cast<size_t>(section));
  if (entry.offset_bytes % 8 != 0 || entry.offset_bytes > image.size() ||
      entry.record_count > (image.size() - entry.offset_bytes) / sizeof(Record)) {
    return false;
  }
  const std::byte* const first = image.data() + entry.offset_bytes;
  records = {reinterpret_cast<const Record*>(first), entry.record_count};
  return true;
}

bool ReadSections(std::span<const std::byte> image, const ImageHeader& header, ImageTables& t) {
  return ReadSection(image, header, Section::kText, t.text) &&
         ReadSection(image, header, Section::kNode, t.node) &&
         ReadSection(image, header, Section::kGpus, t.gpus) &&
         ReadSection(image, header, Section::kLayouts, t.layouts) &&
         ReadSection(image, header, Section::kInstances, t.instances) &&
         ReadSection(image, header, Section::kComputes, t.computes) &&
         ReadSection(image, header, Section::kEras, t.eras) &&
         ReadSection(image, header, Section::kSegments, t.segments) &&
         ReadSection(image, header, Section::kChannels, t.channels) &&
         ReadSection(image, header, Section::kChannelEras, t.channel_eras) &&
         ReadSection(image, header, Section::kCells, t.cells) &&
         ReadSection(image, header, Section::kNodeEras, t.node_eras) &&
         ReadSection(image, header, Section::kResidentPods, t.resident_pods) &&
         ReadSection(image, header, Section::kResidentProcesses, t.resident_processes) &&
         ReadSection(image, header, Section::kPods, t.pods) &&
         ReadSection(image, header, Section::kContainers, t.containers) &&
         ReadSection(image, header, Section::kDevices, t.devices) &&
         ReadSection(image, header, Section::kProcesses, t.processes) &&
         ReadSection(image, header, Section::kChurns, t.churns) &&
         ReadSection(image, header, Section::kFaults, t.faults) &&
         ReadSection(image, header, Section::kFaultCalls, t.fault_calls) &&
         ReadSection(image, header, Section::kFaultFields, t.fault_fields);
}

// Checks indices between the tables.  Each method checks one kind of record.
class Checker {
 public:
  explicit Checker(const ImageTables& tables) : t_(tables) {}

  bool All() const {
    return t_.node.size() == 1 && Node(t_.node.front()) && !t_.node_eras.empty() &&
           t_.node_eras.front().start_us == 0 && Each(t_.gpus, &Checker::Gpu) &&
           Each(t_.layouts, &Checker::Layout) && Each(t_.instances, &Checker::Instance) &&
           Each(t_.computes, &Checker::Compute) && Each(t_.eras, &Checker::Era) &&
           Each(t_.channels, &Checker::Channel) && Each(t_.node_eras, &Checker::NodeEra) &&
           Each(t_.pods, &Checker::Pod) && Each(t_.containers, &Checker::Container) &&
           Each(t_.devices, &Checker::Device) && Each(t_.processes, &Checker::Process) &&
           Each(t_.churns, &Checker::Churn) && Each(t_.faults, &Checker::Fault) &&
           Each(t_.fault_calls, &Checker::Call) && Below(t_.resident_pods, t_.pods.size()) &&
           Below(t_.resident_processes, t_.processes.size());
  }

 private:
  template <typename Record>
  bool Each(std::span<const Record> records, bool (Checker::*check)(const Record&) const) const {
    return std::all_of(records.begin(), records.end(),
                       [this, check](const Record& record) { return (this->*check)(record); });
  }
  static bool Below(std::span<const uint32_t> indices, size_t size) {
    return std::all_of(indices.begin(), indices.end(),
                       [size](uint32_t index) { return index < size; });
  }
  static bool Fits(Range range, size_t size) {
    return range.first <= size && range.count <= size - range.first;
  }
  bool Texts(std::initializer_list<TextRef> refs) const {
    return std::all_of(refs.begin(), refs.end(), [this](TextRef ref) {
      return Fits({ref.offset, ref.length}, t_.text.size());
    });
  }
  bool EntityChannels(uint32_t first) const {
    return Fits({first, kEntityChannelCount}, t_.channels.size());
  }

  bool Node(const NodeRecord& node) const {
    return Texts({node.name, node.scenario, node.driver, node.nvml, node.dcgm, node.engine_tcp,
                  node.engine_unix, node.cgroup_driver, node.cgroup_runtime,
                  node.cgroup_seen_from}) &&
           node.nvswitch_count >= 0 && node.nvswitch_count <= kMostSwitches &&
           std::ranges::all_of(node.cpu_cores,
                               [](int32_t cores) { return cores >= 0 && cores <= kMostCores; });
  }

  bool Gpu(const GpuRecord& gpu) const {
    if (!Texts({gpu.uuid, gpu.pci_bus_id, gpu.serial, gpu.model, gpu.brand, gpu.vbios,
                gpu.inforom_image, gpu.architecture}) ||
        !Fits(gpu.eras, t_.eras.size()) || gpu.eras.count == 0 ||
        !EntityChannels(gpu.first_channel) || !(gpu.time_constant_us > 0)) {
      return false;
    }
    const auto eras = ImageTables::Slice(t_.eras, gpu.eras);
    const bool waves = std::all_of(gpu.noise.begin(), gpu.noise.end(), [](const NoiseWave& wave) {
      return wave.period_us >= kMinimumPeriodUs && wave.phase_us >= 0;
    });
    return waves && eras.front().start_us == 0 &&
           std::is_sorted(eras.begin(), eras.end(), [](const EraRecord& a, const EraRecord& b) {
             return a.start_us < b.start_us;
           });
  }

  bool Layout(const LayoutRecord& layout) const {
    return Fits(layout.instances, t_.instances.size()) && Fits(layout.devices, t_.devices.size());
  }
  bool Instance(const InstanceRecord& instance) const {
    return Texts({instance.profile}) && Fits(instance.computes, t_.computes.size()) &&
           EntityChannels(instance.first_channel);
  }
  bool Compute(const ComputeRecord& compute) const {
    return Texts({compute.mig_uuid, compute.profile}) && EntityChannels(compute.first_channel);
  }

  bool Era(const EraRecord& era) const {
    if (era.hyperperiod_us < kMinimumPeriodUs || !Fits(era.segments, t_.segments.size()) ||
        era.segments.count == 0 || era.layout >= t_.layouts.size()) {
      return false;
    }
    const auto segments = ImageTables::Slice(t_.segments, era.segments);
    return segments.front().start_us == 0 &&
           std::is_sorted(segments.begin(), segments.end(),
                          [](const SegmentRecord& a, const SegmentRecord& b) {
                            return a.start_us < b.start_us;
                          });
  }

  // A channel is read with segment numbers of any era of its GPU.  Cells checks that it has enough
  // cells, since only there the GPU's eras are known.
  bool Channel(const ChannelRecord& channel) const {
    return Fits(channel.channel_eras, t_.channel_eras.size());
  }

  bool NodeEra(const NodeEraRecord& era) const {
    return Fits(era.pods, t_.resident_pods.size()) &&
           Fits(era.processes, t_.resident_processes.size());
  }
  bool Pod(const PodRecord& pod) const {
    return Texts({pod.pod_namespace, pod.name, pod.uid}) &&
           Fits(pod.containers, t_.containers.size());
  }
  bool Container(const ContainerRecord& container) const {
    return Texts({container.name, container.container_id}) &&
           Fits(container.devices, t_.devices.size());
  }
  bool Device(const DeviceRecord& device) const {
    return Texts({device.resource, device.device_id}) && device.gpu >= 0 &&
           static_cast<size_t>(device.gpu) < t_.gpus.size();
  }
  bool Process(const ProcessRecord& process) const {
    return process.gpu >= 0 && static_cast<size_t>(process.gpu) < t_.gpus.size() &&
           Fits({process.first_channel, kProcessChannelCount}, t_.channels.size()) &&
           (process.pod == kNone ||
            (process.pod < t_.pods.size() && process.container < t_.containers.size()));
  }
  bool Churn(const ChurnRecord& churn) const {
    return Texts({churn.pod_namespace, churn.name_prefix, churn.container}) &&
           churn.every_us >= kMinimumPeriodUs && churn.pid_cycles > 0 &&
           Fits(churn.devices, t_.devices.size()) && Fits(churn.processes, t_.processes.size());
  }

  bool Fault(const FaultRecord& fault) const {
    return fault.kind < kFaultKindCount && fault.gpu >= -1 &&
           (fault.gpu < 0 || static_cast<size_t>(fault.gpu) < t_.gpus.size()) &&
           Fits(fault.calls, t_.fault_calls.size()) && Fits(fault.fields, t_.fault_fields.size()) &&
           Texts({fault.version});
  }
  bool Call(const TextRef& pattern) const { return Texts({pattern}); }

  const ImageTables& t_;
};

// Whether each channel from `first` on has, in each of its eras, a cell for every segment.
bool CellsFit(const ImageTables& t, const GpuRecord& gpu, uint32_t first, uint32_t count) {
  const auto eras = ImageTables::Slice(t.eras, gpu.eras);
  for (uint32_t i = first; i < first + count; ++i) {
    const ChannelRecord& channel = t.channels[i];
    if (channel.first_era > eras.size() ||
        channel.channel_eras.count > eras.size() - channel.first_era) {
      return false;
    }
    for (uint32_t k = 0; k < channel.channel_eras.count; ++k) {
      const uint32_t cell = t.channel_eras[channel.channel_eras.first + k].first_cell;
      if (cell != kNone &&
          uint64_t{cell} + eras[channel.first_era + k].segments.count > t.cells.size()) {
        return false;
      }
    }
  }
  return true;
}

bool AllCellsFit(const ImageTables& t) {
  for (const GpuRecord& gpu : t.gpus) {
    if (!CellsFit(t, gpu, gpu.first_channel, kEntityChannelCount)) {
      return false;
    }
    uint32_t checked = kNone;
    for (const EraRecord& era : ImageTables::Slice(t.eras, gpu.eras)) {
      if (era.layout == checked) {
        continue;
      }
      checked = era.layout;
      for (const InstanceRecord& instance :
           ImageTables::Slice(t.instances, t.layouts[era.layout].instances)) {
        if (!CellsFit(t, gpu, instance.first_channel, kEntityChannelCount)) {
          return false;
        }
        for (const ComputeRecord& compute : ImageTables::Slice(t.computes, instance.computes)) {
          if (!CellsFit(t, gpu, compute.first_channel, kEntityChannelCount)) {
            return false;
          }
        }
      }
    }
  }
  return std::all_of(t.processes.begin(), t.processes.end(), [&t](const ProcessRecord& process) {
    return CellsFit(t, t.gpus[static_cast<size_t>(process.gpu)], process.first_channel,
                    kProcessChannelCount);
  });
}

}  // namespace

bool ReadTables(std::span<const std::byte> image, ImageTables& tables, std::string& error) {
  ImageHeader header{};
  if (image.size() < sizeof header) {
    error = "world image: " + std::to_string(image.size()) + " bytes are too few for a header";
    return false;
  }
  std::memcpy(&header, image.data(), sizeof header);
  if (header.magic != kImageMagic) {
    error = "world image: wrong magic, so it is no world image; compile the scenario again";
    return false;
  }
  if (header.version != kImageVersion || header.section_count != kSectionCount) {
    error = "world image: format version " + std::to_string(header.version) +
            ", this program reads " + std::to_string(kImageVersion) +
            "; compile the scenario again";
    return false;
  }
  if (header.size_bytes != image.size()) {
    error = "world image: " + std::to_string(image.size()) + " bytes, its header says " +
            std::to_string(header.size_bytes) + "; it is cut short or still being written";
    return false;
  }
  if (reinterpret_cast<uintptr_t>(image.data()) % 8 != 0) {
    error = "world image: mapped at an address that is not a multiple of 8";
    return false;
  }
  if (!ReadSections(image, header, tables) || !Checker(tables).All() || !AllCellsFit(tables)) {
    error = "world image: damaged; compile the scenario again";
    return false;
  }
  return true;
}

}  // namespace podgpu::sim
