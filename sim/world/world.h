// The simulated node, evaluated: each value at each time is one look-up in exact integer tables.
//
// A World reads an image that the compiler (compile.h) made from a scenario.  It never steps and
// keeps no state, so values do not depend on the order or number of calls.  Time is microseconds
// since the world's epoch.  Integrals are exact 128-bit integers (energy in nJ, activity in ppm x
// us, traffic in B/s x us); sensors derive from them as those of hardware do (sensors.cc).  The
// image must outlive the World; any thread; no allocation unless a comment says so.  This header is
// also for the faces, which use neither abseil nor base: only the standard library here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/facts.h"
#include "sim/world/fault.h"

namespace podgpu::sim {

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
  // Reads an image; null and one line in `error` when it is invalid or of another format version.
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
  virtual int numa_nodes_per_device() const = 0;                 // As the kubelet knows them.
  virtual bool has_profiling_module() const = 0;
  virtual bool accounts_processes() const = 0;      // From the start, until the driver is reloaded.
  virtual std::string_view engine_tcp() const = 0;  // "127.0.0.1:5555"; empty: none
  virtual std::string_view engine_unix() const = 0;  // Relative to the run directory; empty: none.
  virtual std::string_view cgroup_driver() const = 0;   // "systemd", "cgroupfs"
  virtual std::string_view cgroup_runtime() const = 0;  // "containerd", "crio", "docker"
  virtual int cgroup_version() const = 0;
  // The pod, as "namespace/name", in whose own cgroup namespace paths are seen; empty: the host's.
  virtual std::string_view cgroup_seen_from() const = 0;

  virtual bool has_quirk(DriverQuirk quirk) const = 0;

  virtual int nvswitch_count() const = 0;
  virtual int cpu_cores(int cpu) const = 0;  // 0 when there is no such CPU.

  // MIG layout at time t, in hierarchy order.
  virtual bool mig_enabled(int gpu, TimeUs t) const = 0;
  virtual int instance_count(int gpu, TimeUs t) const = 0;
  virtual GpuInstanceFacts instance(int gpu, int instance, TimeUs t) const = 0;
  virtual int compute_count(int gpu, int instance, TimeUs t) const = 0;
  virtual ComputeInstanceFacts compute(int gpu, int instance, int compute, TimeUs t) const = 0;

  // Integrals since the epoch, exact; of an instance, since its creation and in ppm of the
  // instance.
  virtual Int128 Integrate(Integral what, DeviceRef device, TimeUs t) const = 0;
  // The integral from `from` to `to` of the device that `device` names at `to`: never negative,
  // also when that instance was created in between.
  virtual Int128 IntegrateOver(Integral what, DeviceRef device, TimeUs from, TimeUs to) const = 0;
  // The same for the latest process with that pid; energy (the dynamic part), SM, DRAM and media
  // engines only, 0 for others.
  virtual Int128 IntegrateProcess(Integral what, int pid, TimeUs t) const = 0;
  // Dynamic energy of the latest process with that pid; idle and noise energy of a GPU.  This is
  // the truth, which no vendor call returns.
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

  // The pods alive at t.  Strings are valid during the call of the visitor only.
  virtual void VisitPods(TimeUs t, PodVisitor& visitor) const = 0;
  // The pods that the kubelet lists: where the scenario's kubelet keeps finished pods (all before
  // Kubernetes 1.34 do), also those that have ended since the last pod was admitted.
  virtual void VisitListedPods(TimeUs t, PodVisitor& visitor) const = 0;
  // Every device id that the device plugin has registered with the kubelet at t, free or not, as
  // pods get it (all replicas of a shared device; MIG devices of a GPU in MIG mode instead of the
  // GPU): calls visitor.Device only.
  virtual void VisitAllocatable(TimeUs t, PodVisitor& visitor) const = 0;
  virtual int process_count(TimeUs t) const = 0;
  virtual ProcessFacts process(int index, TimeUs t) const = 0;  // pid ascending
  // The latest process with that pid that has started by t; empty when there is none.
  virtual std::optional<ProcessLife> FindProcess(int pid, TimeUs t) const = 0;
  // The processes of a GPU, its instances included, that ended after `since` and by t, the latest
  // first and `most` at most.  Allocates.
  virtual std::vector<ProcessLife> EndedProcesses(int gpu, TimeUs since, TimeUs t,
                                                  size_t most) const = 0;
  // The next time after t at which pods or processes start or stop; INT64_MAX when none.
  virtual TimeUs NextPodChange(TimeUs t) const = 0;

  // All faults of the scenario, by start.  A kind whose bit (FaultBit) is not set never occurs, so
  // a world without faults costs its readers one load.
  virtual std::span<const Fault> faults() const = 0;
  virtual uint64_t fault_kinds() const = 0;
  // The next time after t at which a fault begins or ends; INT64_MAX when none.
  virtual TimeUs NextFaultChange(TimeUs t) const = 0;
  // The fault of a kind that is in force at t; null when there is none.
  const Fault* FaultAt(FaultKind kind, TimeUs t) const;
  // The same for one GPU; faults of every GPU are included.
  const Fault* FaultAt(FaultKind kind, int gpu, TimeUs t) const;
  // By how much the machine's clock has jumped by t.
  TimeUs ClockJumpUs(TimeUs t) const;
  // The end of the latest driver reload by t; 0 when there was none.
  TimeUs DriverSince(TimeUs t) const;
};

}  // namespace podgpu::sim
