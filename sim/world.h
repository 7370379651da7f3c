// The simulated node, evaluated: every value at every time is one look-up in exact integer tables.
//
// A World reads an image that the compiler (compile.h) made from a scenario; it never steps, keeps
// no state and does not care how often or in which order it is asked.  Time is microseconds since
// the world's epoch.  Integrals are exact 128-bit integers (energy in nJ, activity in ppm x us,
// traffic in B/s x us); sensors derive from them as hardware's do (simulator facts, sections 3.2
// to 3.8).  The image outlives the World; any thread may ask; no allocation. This header is for the
// faces too, which use neither abseil nor base: only the standard library here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace podgpu::sim {

using TimeUs = int64_t;
__extension__ typedef __int128 Int128;

// A whole GPU, one of its GPU instances, or one compute instance inside that.
struct DeviceRef {
  int gpu = 0;        // 0 .. gpu_count()-1
  int instance = -1;  // Index into the GPU's instances in hierarchy order, -1 for the GPU.
  int compute = -1;   // Index into the instance's compute instances, -1 for the instance.
};

// What accumulates.
enum class Integral : uint8_t {
  kEnergyNj,  // mW x us; always the whole GPU's.
  kSmPpmUs,
  kTensorPpmUs,
  kFp64PpmUs,
  kFp32PpmUs,
  kFp16PpmUs,
  kDramPpmUs,
  kEncoderPpmUs,
  kDecoderPpmUs,
  kJpegPpmUs,
  kOfaPpmUs,
  kPcieTxBytes,
  kPcieRxBytes,
  kNvlinkTxBytes,
  kNvlinkRxBytes,  // B/s x us
  kPowerViolationNs,
  kThermalViolationNs,
};

// What a board of this class can do and what it is called; constant over time.
struct GpuFacts {
  std::string_view uuid, pci_bus_id, serial, model, brand, vbios, inforom_image, architecture;
  int minor_number = 0;
  int compute_major = 0, compute_minor = 0;
  int architecture_number = 0;  // DCGM's chip architecture number.
  int64_t idle_mw = 0, limit_mw = 0, default_limit_mw = 0, min_limit_mw = 0, max_limit_mw = 0;
  int64_t memory_total_bytes = 0, memory_reserved_bytes = 0, bar1_total_bytes = 0;
  int max_sm_clock_mhz = 0, max_memory_clock_mhz = 0, idle_sm_clock_mhz = 0;
  int slowdown_temperature_c = 0, shutdown_temperature_c = 0;
  int nvlink_count = 0, pcie_generation = 0, pcie_width = 0, sm_count = 0;
  bool has_gpm = false, has_memory_temperature = false, has_jpeg_ofa = false,
       has_row_remapping = false, has_retired_pages = false, has_ecc = false, has_fan = false,
       mig_capable = false, power_is_average = false;
};

struct ComputeInstanceFacts {
  int compute_instance_id = 0;  // NVML id
  int dcgm_entity_id = 0;
  int slices = 0;
  std::string_view mig_uuid,
      profile;  // "1c.3g.40gb" or the instance's own profile when it spans it.
};

struct GpuInstanceFacts {
  int gpu_instance_id = 0;  // NVML id
  int dcgm_entity_id = 0;   // gpu*7 + running number in profile order
  int compute_slices = 0, memory_slices = 0, placement_start = 0, profile_id = 0, sm_count = 0;
  int64_t memory_total_bytes = 0, memory_reserved_bytes = 0;
  std::string_view profile;  // "3g.40gb"
};

// One device id that one container of a pod was given, in the allocator's spelling.  A pod keeps
// the ids of instances that a MIG change has taken away; their device.gpu is -1.
struct PodDevice {
  std::string_view resource, device_id;
  DeviceRef device;
};

// A pod that lives at the time asked for.
struct PodFacts {
  std::string_view pod_namespace, name, uid;
};
struct ContainerFacts {
  std::string_view name, container_id;
};

// A pod's name, held by value: that of a churning pod is made when it is asked for.
struct PodName {
  std::array<char, 64> text{};
  size_t size = 0;
  std::string_view view() const { return {text.data(), size}; }
  operator std::string_view() const {
    return view();
  }  // NOLINT(google-explicit-constructor): a view
};

struct ProcessFacts {
  int pid = 0;
  DeviceRef device;
  TimeUs started = 0;
  int64_t memory_bytes = 0;
  std::string_view pod_namespace, container;  // Empty, as the pod, for a process outside pods.
  PodName pod;
};

// Receives pods, containers and devices in order; return values are ignored.
class PodVisitor {
 public:
  PodVisitor() = default;
  PodVisitor(const PodVisitor&) = delete;
  PodVisitor& operator=(const PodVisitor&) = delete;
  virtual ~PodVisitor() = default;
  virtual void Pod(const PodFacts& pod) = 0;
  virtual void Container(const ContainerFacts& container) = 0;
  virtual void Device(const PodDevice& device) = 0;
};

class World {
 public:
  // Reads an image; null and one line in `error` when it is none, or of another format version.
  static std::unique_ptr<World> Open(std::span<const std::byte> image, std::string& error);

  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  // The node.
  virtual int gpu_count() const = 0;
  virtual const GpuFacts& gpu(int index) const = 0;
  virtual std::string_view driver_version() const = 0;
  virtual std::string_view nvml_version() const = 0;
  virtual int cuda_version() const = 0;  // 12080
  virtual std::string_view dcgm_version() const = 0;
  virtual std::string_view node_name() const = 0;
  virtual std::string_view scenario_name() const = 0;
  virtual uint64_t scenario_hash() const = 0;
  virtual int64_t epoch_unix_us() const = 0;  // 0: the epoch is the moment of `run`.
  virtual bool kubelet_has(std::string_view version) const = 0;  // "v1", "v1alpha1"
  virtual bool kubelet_has_inventory() const = 0;                // GetAllocatableResources answers.
  virtual bool has_profiling_module() const = 0;
  virtual std::string_view engine_tcp() const = 0;   // "127.0.0.1:5555"; empty: none
  virtual std::string_view engine_unix() const = 0;  // Relative to the run directory; empty: none.
  virtual std::string_view cgroup_driver() const = 0;   // "systemd", "cgroupfs"
  virtual std::string_view cgroup_runtime() const = 0;  // "containerd", "crio", "docker"
  virtual int cgroup_version() const = 0;

  // MIG layout at time t, in hierarchy order.
  virtual bool mig_enabled(int gpu, TimeUs t) const = 0;
  virtual int instance_count(int gpu, TimeUs t) const = 0;
  virtual GpuInstanceFacts instance(int gpu, int instance, TimeUs t) const = 0;
  virtual int compute_count(int gpu, int instance, TimeUs t) const = 0;
  virtual ComputeInstanceFacts compute(int gpu, int instance, int compute, TimeUs t) const = 0;

  // Integrals since the epoch, exact; of an instance, since its creation and in ppm of the
  // instance.
  virtual Int128 Integrate(Integral what, DeviceRef device, TimeUs t) const = 0;
  // The integral from `from` to `to` of the entity that `device` names at `to`: never negative,
  // also when that instance was created in between.
  virtual Int128 IntegrateOver(Integral what, DeviceRef device, TimeUs from, TimeUs to) const = 0;
  // The same for the latest process with that pid; energy (the dynamic part), SM, DRAM, encoder and
  // decoder only, 0 for others.
  virtual Int128 IntegrateProcess(Integral what, int pid, TimeUs t) const = 0;
  // Dynamic energy of the latest process with that pid, idle and noise energy of a GPU: the truth,
  // never told by a vendor call.
  virtual Int128 ProcessEnergyNj(int pid, TimeUs t) const = 0;
  virtual Int128 IdleEnergyNj(int gpu, TimeUs t) const = 0;
  virtual Int128 NoiseEnergyNj(int gpu, TimeUs t) const = 0;

  // Sensors, as the hardware shows them at time t.
  virtual int64_t EnergyCounterMj(
      int gpu, TimeUs t) const = 0;  // refreshed each 100 ms, with the board's offset
  virtual TimeUs EnergyCounterTime(int gpu, TimeUs t) const = 0;  // the refresh that it shows
  virtual int64_t PowerAverageMw(int gpu, TimeUs t) const = 0;    // over 1 s
  virtual int64_t PowerInstantMw(int gpu, TimeUs t) const = 0;    // over 25 ms
  virtual int64_t PowerLimitMw(int gpu, TimeUs t) const = 0;
  virtual int UtilizationPercent(Integral what, DeviceRef device,
                                 TimeUs t) const = 0;  // last full sample period
  virtual int TemperatureC(int gpu, TimeUs t) const = 0;
  virtual int MemoryTemperatureC(int gpu, TimeUs t) const = 0;
  virtual double TemperatureExactC(int gpu, TimeUs t) const = 0;  // for the property tests
  virtual int SmClockMhz(int gpu, TimeUs t) const = 0;
  virtual int MemoryClockMhz(int gpu, TimeUs t) const = 0;
  virtual uint64_t ClockEventReasons(int gpu, TimeUs t) const = 0;  // DCGM 112 bits
  virtual int64_t MemoryUsedBytes(DeviceRef device, TimeUs t) const = 0;

  // Who lives at t.  Strings are valid during the call of the visitor only.
  virtual void VisitPods(TimeUs t, PodVisitor& visitor) const = 0;
  // Every device id that the device plugin has registered with the kubelet at t, free or not, in
  // the spelling in which pods get it (all replicas of a shared device; MIG devices of a GPU in MIG
  // mode instead of the GPU): calls visitor.Device only.
  virtual void VisitAllocatable(TimeUs t, PodVisitor& visitor) const = 0;
  virtual int process_count(TimeUs t) const = 0;
  virtual ProcessFacts process(int index, TimeUs t) const = 0;  // pid ascending
  // The next time after t at which pods or processes start or stop; INT64_MAX when none.
  virtual TimeUs NextPodChange(TimeUs t) const = 0;
};

}  // namespace podgpu::sim
