// A scenario as written: form, units and ranges are checked, references are not resolved yet.
//
// ReadScenario() turns YAML into this model; compile.cc resolves its names (which instance is
// gpu6/mig0 at that time), checks rules that need the whole scenario, and makes the image.  Each
// part keeps its place in the file for later complaints.  Plain data, owned by the caller; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/gpu_classes.h"
#include "sim/scenario/reader.h"
#include "sim/world/fault.h"
#include "sim/world/image.h"

namespace podgpu::sim {

inline constexpr int64_t kRefreshUs = 100'000;  // Between two refreshes of a sensor.
inline constexpr int64_t kWholePpm = 1'000'000;
inline constexpr size_t kDemandCount = 15;  // Integrals kSmPpmUs to kNvlinkRxBytes; [0] is unused.

// The demands of a process, by Integral, in ppm or bytes per second; and the memory that it holds.
struct Demand {
  std::array<int64_t, kDemandCount> rates{};
  int64_t memory_bytes = -1;  // -1: the value of the process.
  bool operator==(const Demand&) const = default;
};

struct PhaseSpec {
  int64_t duration_us = 0;
  Demand demand;
};
struct LoadSpec {
  std::string name;  // "train", or "inline".
  std::vector<PhaseSpec> phases;
};

struct ClassSpec {
  std::string name, model;
  GpuClass figures;  // Its name and model are the two texts above.
  int64_t ambient_millic = 30'000;
};

struct MigSpec {
  std::string profile;
  std::optional<int> start;
  std::vector<std::string> computes;  // Empty: one compute instance spans the instance.
  Place place;
};
enum class Sharing : uint8_t { kExclusive, kTimeSlicing, kMps };
struct GpuSpec {
  size_t class_index = 0;
  std::string model, uuid, bus_id;  // Empty: the class's, or from the seed.
  int minor_number = 0;
  int64_t ambient_millic = 0;
  std::vector<MigSpec> mig;
  bool mig_enabled = false;
  Sharing sharing = Sharing::kExclusive;
  int replicas = 0;
  Place place;
};

// "gpu6/mig0/ci1", "gpu7::2", "gpu3"; instances count in the order of the scenario's list.
struct DeviceSpec {
  int gpu = 0, mig = -1, compute = -1, replica = -1;
  Place place;
};

struct ProcessSpec {
  int pid = 0;
  std::optional<DeviceSpec> device;
  LoadSpec load;
  int64_t memory_bytes = 0, k_mw = -1, m_mw = -1;  // -1: the class's.
  int64_t threads_ppm = kWholePpm;                 // Active thread percentage, under MPS.
  std::optional<TimeUs> start_us, stop_us;         // Empty: the pod's.
  bool escape = false;
  Place place;
};
struct ContainerSpec {
  std::string name;
  std::vector<DeviceSpec> devices;
  std::vector<ProcessSpec> processes;
  Place place;
};
struct PodSpec {
  std::string name, pod_namespace;
  TimeUs start_us = 0, stop_us = kForever;
  bool is_static = false;  // Defined by a file of the node, not by the API server.
  std::vector<ContainerSpec> containers;
  Place place;
};
struct ChurnSpec {
  std::string name, pod_namespace, container;
  TimeUs start_us = 0, every_us = 0, life_us = 0;
  std::vector<DeviceSpec> devices;
  ProcessSpec process;  // One per device; pid and device unused.
  Place place;
};

// One entry of `faults:` or of the control log.
struct FaultSpec {
  FaultKind kind = FaultKind::kHeal;
  TimeUs at_us = 0, until_us = kForever;
  int gpu = -1;  // -1: every GPU, or a fault without a GPU.
  std::array<int64_t, kFaultNumberCount> numbers{};
  std::vector<std::string> calls;
  std::vector<uint32_t> fields;
  std::string version;
  std::vector<MigSpec> layout;
  std::optional<FaultKind> heals;  // For kHeal; empty: every kind.
  bool from_control = false;       // Which file `place` is in.
  Place place;

  bool Has(FaultNumber which) const { return Get(which) != kNotGiven; }
  int64_t Get(FaultNumber which) const { return numbers[static_cast<size_t>(which)]; }
};

enum class Allocator : uint8_t { kNvidia, kGke, kHami, kDra, kVolcano, kGpushare };

struct Scenario {
  std::string name, node_name = "gpu-node-0";
  uint64_t seed = 1;
  int64_t epoch_unix_us = 0;
  std::string driver = "570.124.06", nvml = "12.570.124.06", dcgm = "4.6.0";
  int cuda = 12'080;
  uint32_t quirks = 0;  // 1 << DriverQuirk
  bool profiling_module = false, accounting = false;
  std::string engine_tcp = "127.0.0.1:5555", engine_unix = "engine.sock";
  std::string cgroup_driver = "systemd", cgroup_runtime = "containerd";
  int cgroup_version = 2;
  std::string cgroup_seen_from;  // "namespace/name" of a pod; empty: the host.
  int64_t noise_mw = 1'500;
  int64_t refresh_phase_us = -1;  // Below kRefreshUs; -1: from the seed, per GPU.
  Allocator allocator = Allocator::kNvidia;
  bool mig_single = false, rename_shared = false, inventory = true, v1 = true, v1alpha1 = true;
  bool keeps_finished = false;  // The kubelet lists finished pods until it admits the next one.
  bool two_numa_nodes = false;  // Of each device; the kubelet lists it once for each.
  int nvlink_per_gpu = -1;      // -1: the class's.
  int nvswitch_count = 0;
  std::vector<int> cpu_cores;  // Of each CPU that the engine speaks to (Grace).
  std::vector<ClassSpec> classes;
  std::vector<GpuSpec> gpus;
  std::map<std::string, LoadSpec, std::less<>> loads;
  std::vector<PodSpec> pods;
  std::vector<ChurnSpec> churns;
  std::vector<ProcessSpec> orphans;
  std::vector<FaultSpec> faults;
};

// Reads a scenario; adds errors to `errors` and still reads the rest.
Scenario ReadScenario(std::string_view text, ScenarioErrors& errors);

// Adds the entries of a control log (a YAML list, or nothing) to the scenario's faults.
void ReadControlLog(std::string_view text, ScenarioErrors& errors, Scenario& scenario);

}  // namespace podgpu::sim
