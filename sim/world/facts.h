// The plain facts that a simulated node returns.
//
// The nouns of world.h: devices, integrals, boards, instances, pods, processes.  Views point into
// the world's image and live as long as it does, unless a comment says otherwise.  Standard library
// only, for the faces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podgpu::sim {

using TimeUs = int64_t;
inline constexpr TimeUs kSecondUs = 1'000'000;
__extension__ typedef __int128 Int128;

// Quantities that the engine knows, as in DCGM.
inline constexpr size_t kMostCpus = 8;
inline constexpr int kMostCores = 1024;
inline constexpr int kMostSwitches = 12;

// What some drivers do wrong when a client asks for the utilisation of processes.
enum class DriverQuirk : uint8_t {
  kSize100,      // Without an array they return the size 100.
  kDeadPids,     // Records of ended processes stay as long as the samples.
  kOver100,      // Percentages are twice the true ones.
  kLateRecords,  // Each process's records end up to 10 s ago.
  kMigRecords,   // A MIG device reports its processes.
};

// A whole GPU, one of its GPU instances, or one compute instance inside that.
struct DeviceRef {
  int gpu = 0;        // 0 .. gpu_count()-1
  int instance = -1;  // Index into the GPU's instances in hierarchy order, -1 for the GPU.
  int compute = -1;   // Index into the instance's compute instances, -1 for the instance.
};

// Quantities that accumulate.
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

// The features and names of a board of this class; constant over time.
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
  bool shared_by_mps = false;  // Its processes are clients of an MPS server.
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

// One device id that one container of a pod was given, as the allocator writes it.  A pod keeps the
// ids of instances that a MIG change has removed; their device.gpu is -1.
struct PodDevice {
  std::string_view resource, device_id;
  DeviceRef device;
};

// A pod that is alive at the given time.
struct PodFacts {
  std::string_view pod_namespace, name, uid;
  std::string_view config_hash;  // Of a static pod, whose cgroup has this in place of the uid.
  bool has_ended = false;        // True only in the list of the kubelet.
};
struct ContainerFacts {
  std::string_view name, container_id;
};

// A pod's name, held by value: the name of a churning pod is made for each call.
struct PodName {
  std::array<char, 64> text{};
  size_t size = 0;
  std::string_view view() const { return {text.data(), size}; }
};

struct ProcessFacts {
  int pid = 0;
  DeviceRef device;
  TimeUs started = 0;
  int64_t memory_bytes = 0;
  std::string_view pod_namespace, container;  // Empty, like the pod, for a process outside pods.
  PodName pod;
};

// The kernel's names of a process: comm, which has 15 characters, and its executable file.
inline std::string_view ProcessComm(const ProcessFacts& process) {
  constexpr size_t kLongest = 15;
  return process.container.empty() ? "orphan" : process.pod.view().substr(0, kLongest);
}
inline constexpr std::string_view kProgramFolder = "/usr/bin/";

// A process from its start to its end, or to the given time.
struct ProcessLife {
  int pid = 0;
  DeviceRef device;
  TimeUs started = 0;
  TimeUs stopped = INT64_MAX;     // INT64_MAX while it runs.
  int64_t peak_memory_bytes = 0;  // The most memory it held at any time.
};

}  // namespace podgpu::sim
