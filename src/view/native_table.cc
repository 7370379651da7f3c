// tidy: table
#include "view/native_table.h"

namespace podgpu {
namespace {

constexpr double kMebibyte = 1048576;
constexpr double kMegahertz = 1e6;
constexpr double kPercent = 0.01;
constexpr double kMillijoule = 0.001;

constexpr std::string_view kUtilizationHelp =
    "Share of time with any work resident on the device, from 0 to 1. High does not mean well "
    "used: "
    "see podgpu_gpu_sm_active_ratio.";
constexpr std::string_view kClockHelp = "Clock frequency of a domain of the device.";
constexpr std::string_view kThrottleHelp =
    "1 while the reason holds clocks below their maximum, else 0. gpu_idle and clocks_setting are "
    "no shortage.";

constexpr Measure OnDevice(std::string_view name, std::string_view unit, uint16_t field_id,
                           std::string_view help) {
  Measure measure;
  measure.name = name;
  measure.type = "gauge";
  measure.unit = unit;
  measure.help = help;
  measure.field_id = field_id;
  return measure;
}

constexpr Measure Throttle(std::string_view reason, uint8_t bit) {
  Measure measure = OnDevice("podgpu_gpu_throttle_active", "", 112, kThrottleHelp);
  measure.extra_label = "reason";
  measure.extra_value = reason;
  measure.bit = bit;
  return measure;
}

constexpr Measure Clock(std::string_view domain, uint16_t field_id) {
  Measure measure = OnDevice("podgpu_gpu_clock_hertz", "hertz", field_id, kClockHelp);
  measure.extra_label = "domain";
  measure.extra_value = domain;
  measure.scale = kMegahertz;
  return measure;
}

constexpr Measure Activity(std::string_view name, uint16_t field_id, std::string_view help) {
  Measure measure = OnDevice(name, "ratio", field_id, help);
  measure.instances = true;
  return measure;
}

constexpr Measure Memory(std::string_view name, uint16_t field_id, std::string_view help) {
  Measure measure = OnDevice(name, "bytes", field_id, help);
  measure.instances = true;
  measure.scale = kMebibyte;
  return measure;
}

constexpr Measure WholeGpuUtilization() {
  Measure measure = Activity("podgpu_gpu_utilization_ratio", 203, kUtilizationHelp);
  measure.on = MeasuredOn::kWholeGpus;
  measure.scale = kPercent;
  return measure;
}

constexpr Measure PartitionedGpuUtilization() {
  Measure measure = Activity("podgpu_gpu_utilization_ratio", 1001, kUtilizationHelp);
  measure.on = MeasuredOn::kPartitionedGpus;
  return measure;
}

constexpr Measure Energy() {
  Measure measure = OnDevice(
      "podgpu_gpu_energy_joules_total", "joules", 156,
      "Energy that the board has used since the driver was loaded, as the board counts it.");
  measure.type = "counter";
  measure.scale = kMillijoule;
  return measure;
}

constexpr Measure kMeasures[] = {
    WholeGpuUtilization(),
    PartitionedGpuUtilization(),
    Activity("podgpu_gpu_sm_active_ratio", 1002,
             "Share of time in which a multiprocessor had a warp resident, averaged over all of "
             "them, from 0 to 1."),
    Activity("podgpu_gpu_tensor_active_ratio", 1004,
             "Share of cycles in which the tensor pipes were active, from 0 to 1."),
    Activity("podgpu_gpu_dram_active_ratio", 1005,
             "Share of cycles in which device memory was read or written, from 0 to 1."),
    Memory("podgpu_gpu_memory_total_bytes", 250,
           "Device memory: used, free and reserved together."),
    Memory("podgpu_gpu_memory_used_bytes", 252, "Device memory that is allocated."),
    Memory("podgpu_gpu_memory_free_bytes", 251, "Device memory that can be allocated."),
    Memory("podgpu_gpu_memory_reserved_bytes", 253,
           "Device memory that driver and firmware keep for themselves."),
    OnDevice("podgpu_gpu_temperature_celsius", "celsius", 150, "Temperature of the GPU."),
    OnDevice("podgpu_gpu_power_watts", "watts", 155, "Power that the board draws."),
    OnDevice("podgpu_gpu_power_limit_watts", "watts", 164,
             "Power limit that is in force, the lowest of all that apply."),
    Energy(),
    Clock("sm", 100),
    Clock("memory", 101),
    Clock("video", 102),
    Throttle("gpu_idle", 0),
    Throttle("clocks_setting", 1),
    Throttle("power_cap", 2),
    Throttle("hw_slowdown", 3),
    Throttle("sync_boost", 4),
    Throttle("sw_thermal", 5),
    Throttle("hw_thermal", 6),
    Throttle("hw_power_brake", 7),
    Throttle("display_clocks", 8),
};

}  // namespace

std::span<const Measure> Measures() { return kMeasures; }

}  // namespace podgpu
