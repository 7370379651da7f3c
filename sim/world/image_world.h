// World over an image: the sections as arrays, and the two look-ups on which all others build.
//
// Locate() finds the era and segment of a time; Value() reads one channel there.  Borrows the
// image, which must outlive it.  Built once by World::Open after the image was checked, immutable
// afterwards; any thread.  Only world*.cc include this.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/world/image.h"
#include "sim/world/image_faults.h"
#include "sim/world/image_pods.h"
#include "sim/world/world.h"

namespace podgpu::sim {

struct ChurnMoment;  // churns.h

// The sections of an image.
struct ImageTables {
  std::span<const char> text;
  std::span<const NodeRecord> node;
  std::span<const GpuRecord> gpus;
  std::span<const LayoutRecord> layouts;
  std::span<const InstanceRecord> instances;
  std::span<const ComputeRecord> computes;
  std::span<const EraRecord> eras;
  std::span<const SegmentRecord> segments;
  std::span<const ChannelRecord> channels;
  std::span<const ChannelEraRecord> channel_eras;
  std::span<const CellRecord> cells;
  std::span<const NodeEraRecord> node_eras;
  std::span<const uint32_t> resident_pods;
  std::span<const uint32_t> resident_processes;
  std::span<const PodRecord> pods;
  std::span<const ContainerRecord> containers;
  std::span<const DeviceRecord> devices;
  std::span<const ProcessRecord> processes;
  std::span<const ChurnRecord> churns;
  std::span<const FaultRecord> faults;
  std::span<const TextRef> fault_calls;
  std::span<const uint32_t> fault_fields;

  std::string_view Text(TextRef ref) const { return {text.data() + ref.offset, ref.length}; }
  template <typename Record>
  static std::span<const Record> Slice(std::span<const Record> all, Range range) {
    return all.subspan(range.first, range.count);
  }
};

// Fills `tables` from the bytes of an image; returns false and one line in `error` when an index in
// it is out of range.  Costs one pass over the image.
bool ReadTables(std::span<const std::byte> image, ImageTables& tables, std::string& error);

// The position of a time in a GPU's eras.
struct Position {
  uint32_t era = 0;      // Relative to the GPU's eras.
  uint32_t segment = 0;  // Relative to the era's segments.
  int64_t cycle = 0;
  TimeUs into_segment_us = 0;
  const EraRecord* era_record = nullptr;
  const SegmentRecord* segment_record = nullptr;
};

class ImageWorld final : public World {
 public:
  ImageWorld(const ImageTables& tables, uint64_t scenario_hash);

  int gpu_count() const override { return static_cast<int>(facts_.size()); }
  const GpuFacts& gpu(int index) const override { return facts_.at(static_cast<size_t>(index)); }
  std::string_view driver_version() const override { return tables_.Text(node_.driver); }
  std::string_view nvml_version() const override { return tables_.Text(node_.nvml); }
  int cuda_version() const override { return node_.cuda; }
  std::string_view dcgm_version() const override { return tables_.Text(node_.dcgm); }
  std::string_view node_name() const override { return tables_.Text(node_.name); }
  std::string_view scenario_name() const override { return tables_.Text(node_.scenario); }
  uint64_t scenario_hash() const override { return scenario_hash_; }
  int64_t epoch_unix_us() const override { return node_.epoch_unix_us; }
  bool kubelet_has(std::string_view version) const override;
  bool kubelet_has_inventory() const override { return Has(kNodeHasInventory); }
  int numa_nodes_per_device() const override { return Has(kNodeTwoNumaNodes) ? 2 : 1; }
  bool has_profiling_module() const override { return Has(kNodeHasProfilingModule); }
  bool accounts_processes() const override { return Has(kNodeAccounts); }
  std::string_view engine_tcp() const override { return tables_.Text(node_.engine_tcp); }
  std::string_view engine_unix() const override { return tables_.Text(node_.engine_unix); }
  std::string_view cgroup_driver() const override { return tables_.Text(node_.cgroup_driver); }
  std::string_view cgroup_runtime() const override { return tables_.Text(node_.cgroup_runtime); }
  int cgroup_version() const override { return node_.cgroup_version; }
  std::string_view cgroup_seen_from() const override {
    return tables_.Text(node_.cgroup_seen_from);
  }
  bool has_quirk(DriverQuirk quirk) const override {
    return Has(kNodeFirstQuirk << static_cast<uint32_t>(quirk));
  }
  int nvswitch_count() const override { return node_.nvswitch_count; }
  int cpu_cores(int cpu) const override {
    return cpu < 0 || cpu >= static_cast<int>(kMostCpus)
               ? 0
               : node_.cpu_cores[static_cast<size_t>(cpu)];
  }

  bool mig_enabled(int gpu, TimeUs t) const override;
  int instance_count(int gpu, TimeUs t) const override;
  GpuInstanceFacts instance(int gpu, int instance, TimeUs t) const override;
  int compute_count(int gpu, int instance, TimeUs t) const override;
  ComputeInstanceFacts compute(int gpu, int instance, int compute, TimeUs t) const override;

  Int128 Integrate(Integral what, DeviceRef device, TimeUs t) const override;
  Int128 IntegrateOver(Integral what, DeviceRef device, TimeUs from, TimeUs to) const override;
  Int128 IntegrateProcess(Integral what, int pid, TimeUs t) const override;
  Int128 ProcessEnergyNj(int pid, TimeUs t) const override;
  Int128 IdleEnergyNj(int gpu, TimeUs t) const override;
  Int128 NoiseEnergyNj(int gpu, TimeUs t) const override;

  int64_t EnergyCounterMj(int gpu, TimeUs t) const override;
  TimeUs EnergyCounterTime(int gpu, TimeUs t) const override;
  int64_t PowerAverageMw(int gpu, TimeUs t) const override;
  int64_t PowerInstantMw(int gpu, TimeUs t) const override;
  int64_t PowerLimitMw(int gpu, TimeUs t) const override;
  int UtilizationPercent(Integral what, DeviceRef device, TimeUs t) const override;
  int TemperatureC(int gpu, TimeUs t) const override;
  int MemoryTemperatureC(int gpu, TimeUs t) const override;
  double TemperatureExactC(int gpu, TimeUs t) const override;
  int SmClockMhz(int gpu, TimeUs t) const override;
  int MemoryClockMhz(int gpu, TimeUs t) const override;
  uint64_t ClockEventReasons(int gpu, TimeUs t) const override;
  int64_t MemoryUsedBytes(DeviceRef device, TimeUs t) const override;

  void VisitPods(TimeUs t, PodVisitor& visitor) const override;
  void VisitListedPods(TimeUs t, PodVisitor& visitor) const override;
  void VisitAllocatable(TimeUs t, PodVisitor& visitor) const override;
  int process_count(TimeUs t) const override;
  ProcessFacts process(int index, TimeUs t) const override;
  std::optional<ProcessLife> FindProcess(int pid, TimeUs t) const override;
  std::vector<ProcessLife> EndedProcesses(int gpu, TimeUs since, TimeUs t,
                                          size_t most) const override;
  TimeUs NextPodChange(TimeUs t) const override;

  std::span<const Fault> faults() const override { return faults_; }
  uint64_t fault_kinds() const override { return fault_kinds_; }
  TimeUs NextFaultChange(TimeUs t) const override;

 private:
  bool Has(uint32_t flag) const { return (node_.flags & flag) != 0; }
  const GpuRecord& Gpu(int gpu) const { return tables_.gpus[static_cast<size_t>(gpu)]; }
  const EraRecord& EraAt(const GpuRecord& gpu, TimeUs t) const;
  const LayoutRecord& LayoutAt(int gpu, TimeUs t) const;
  Position Locate(const GpuRecord& gpu, TimeUs t) const;
  Int128 Value(const ChannelRecord& channel, const Position& position) const;
  int64_t Rate(const ChannelRecord& channel, const Position& position) const;
  // The first channel of `device` at t; kNone when there is no such instance.
  uint32_t FirstChannel(DeviceRef device, TimeUs t) const;
  Int128 IntegrateChannel(Integral what, int gpu, uint32_t first_channel, TimeUs t) const;
  int64_t PowerOver(int gpu, TimeUs t, TimeUs window_us) const;
  double TemperatureAt(int gpu, TimeUs t, bool memory) const;

  void ReadFaults();
  const NodeEraRecord& NodeEraAt(TimeUs t) const;
  Int128 ProcessValue(const ProcessRecord& process, ProcessChannel what, TimeUs t) const;
  ProcessFacts Facts(const ProcessRecord& process, TimeUs t) const;
  std::span<const ProcessRecord> FixedProcesses() const;
  // The latest process with that pid that has started by t, with its life up to t.
  struct FoundProcess {
    const ProcessRecord* record = nullptr;
    TimeUs started = 0, stopped = 0;
  };
  FoundProcess LatestProcess(int pid, TimeUs t) const;
  int64_t PeakMemory(const ProcessRecord& process, TimeUs from, TimeUs to) const;
  ProcessLife Life(const FoundProcess& found, int pid, TimeUs t) const;
  ProcessFacts ChurnFacts(const ChurnRecord& churn, int index, TimeUs t) const;
  void VisitDevices(Range devices, TimeUs t, PodVisitor& visitor) const;
  void VisitPod(const PodRecord& pod, TimeUs t, PodVisitor& visitor) const;
  void VisitChurn(const ChurnRecord& churn, const ChurnMoment& moment, TimeUs t,
                  PodVisitor& visitor) const;
  TimeUs LastAdmission(TimeUs t) const;

  ImageTables tables_;
  NodeRecord node_;
  uint64_t scenario_hash_;
  std::vector<GpuFacts> facts_;
  std::vector<Fault> faults_;
  uint64_t fault_kinds_ = 0;
};

}  // namespace podgpu::sim
