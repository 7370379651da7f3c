#include "view/native_table.h"

#include <algorithm>

namespace podgpu {
namespace {

constexpr double kMebibyte = 1048576;
constexpr double kMegahertz = 1e6;
constexpr double kPercent = 0.01;
constexpr double kMillijoule = 0.001;
constexpr double kNanosecond = 1e-9;

constexpr std::string_view kUtilizationHelp =
    "Share of time with any work on the device, from 0 to 1. A high value does not mean good use: "
    "see podgpu_gpu_sm_active_ratio.";
constexpr std::string_view kClockHelp = "Clock frequency of a domain of the device.";
constexpr std::string_view kThrottleHelp =
    "1 while the reason holds clocks below their maximum, else 0. power_cap always has a line, the "
    "others once they have been active; gpu_idle and clocks_setting are not a problem.";

constexpr std::string_view kLimitHelp =
    "Temperature at which the GPU lowers its clocks (slowdown) or switches itself off (shutdown).";
constexpr std::string_view kThrottledHelp =
    "Time for which the reason held clocks down since the driver was loaded. thermal is the sum of "
    "the thermal reasons; the single ones and hw_power_brake need DCGM 4.3 or newer. power_cap and "
    "thermal always have a line, the others once their time is not 0: without one, the reason has "
    "not held, or the driver does not tell it.";
constexpr std::string_view kLinkErrorsHelp =
    "Errors on all NVLinks of the GPU since the driver was loaded: crc of flow control, crc_data "
    "of data, and those that the link repaired by replay and recovery.";
constexpr std::string_view kRecoveryHelp =
    "1 for the action that the driver now requests to repair the GPU, 0 for earlier requests; "
    "none: the GPU is healthy. Needs DCGM 4.5 or newer.";

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
  measure.shown = Shown::kOnceSeen;
  return measure;
}

constexpr Measure Actionable(Measure measure) {
  measure.actionable = true;
  return measure;
}

// One reason always has a line, which shows that the driver reports the mask of reasons.
constexpr Measure PowerCap() {
  Measure measure = Actionable(Throttle("power_cap", 2));
  measure.shown = Shown::kAlways;
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
  Measure measure =
      OnDevice("podgpu_gpu_energy_joules_total", "joules", 156,
               "Energy that the board has used since the driver was loaded, by its own counter.");
  measure.type = "counter";
  measure.scale = kMillijoule;
  return measure;
}

constexpr Measure Limit(std::string_view limit, uint16_t field_id) {
  Measure measure =
      OnDevice("podgpu_gpu_temperature_limit_celsius", "celsius", field_id, kLimitHelp);
  measure.extra_label = "limit";
  measure.extra_value = limit;
  return measure;
}

constexpr Measure Throttled(std::string_view reason, uint16_t field_id, Shown shown) {
  Measure measure =
      OnDevice("podgpu_gpu_throttled_seconds_total", "seconds", field_id, kThrottledHelp);
  measure.type = "counter";
  measure.extra_label = "reason";
  measure.extra_value = reason;
  measure.scale = kNanosecond;
  measure.shown = shown;
  return measure;
}

constexpr Measure UncorrectableErrors() {
  Measure measure = OnDevice("podgpu_gpu_ecc_uncorrectable_errors_total", "", 311,
                             "Double-bit ECC errors since the driver was loaded.");
  measure.type = "counter";
  return measure;
}

constexpr Measure LinkErrors(std::string_view kind, uint16_t field_id) {
  Measure measure = OnDevice("podgpu_gpu_nvlink_errors_total", "", field_id, kLinkErrorsHelp);
  measure.type = "counter";
  measure.extra_label = "kind";
  measure.extra_value = kind;
  return measure;
}

constexpr Measure Recovery(std::string_view action, uint8_t number) {
  Measure measure = OnDevice("podgpu_gpu_recovery_action", "", 1523, kRecoveryHelp);
  measure.extra_label = "action";
  measure.extra_value = action;
  measure.word = number;
  measure.shown = Shown::kOnceSeen;
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
    Limit("slowdown", 158),
    Limit("shutdown", 159),
    OnDevice("podgpu_gpu_power_watts", "watts", 155, "Power that the board draws."),
    OnDevice("podgpu_gpu_power_limit_watts", "watts", 164,
             "Power limit in force: the lowest of all limits that apply."),
    Energy(),
    Clock("sm", 100),
    Clock("memory", 101),
    Clock("video", 102),
    Throttle("gpu_idle", 0),
    Throttle("clocks_setting", 1),
    PowerCap(),
    Actionable(Throttle("hw_slowdown", 3)),
    Throttle("sync_boost", 4),
    Actionable(Throttle("sw_thermal", 5)),
    Actionable(Throttle("hw_thermal", 6)),
    Actionable(Throttle("hw_power_brake", 7)),
    Throttle("display_clocks", 8),
    Throttled("power_cap", 240, Shown::kAlways),
    Throttled("thermal", 241, Shown::kAlways),
    Throttled("sync_boost", 242, Shown::kOnceSeen),
    Throttled("board_limit", 243, Shown::kOnceSeen),
    Throttled("low_utilization", 244, Shown::kOnceSeen),
    Throttled("reliability", 245, Shown::kOnceSeen),
    Throttled("sw_thermal", 1422, Shown::kOnceSeen),
    Throttled("hw_thermal", 1423, Shown::kOnceSeen),
    Throttled("hw_power_brake", 1424, Shown::kOnceSeen),
    UncorrectableErrors(),
    OnDevice("podgpu_gpu_row_remap_pending", "", 396,
             "1 while rows of memory wait for a reset of the GPU to be remapped."),
    OnDevice("podgpu_gpu_row_remap_failed", "", 395,
             "1 when a row could not be remapped: the GPU is due for replacement."),
    LinkErrors("crc", 409),
    LinkErrors("crc_data", 419),
    LinkErrors("replay", 429),
    LinkErrors("recovery", 439),
    Recovery("none", 0),
    Recovery("reset_gpu", 1),
    Recovery("reboot_node", 2),
    Recovery("drain_p2p", 3),
    Recovery("drain_and_reset", 4),
};

static_assert(std::ranges::none_of(kMeasures, [](const Measure& measure) {
  return measure.instances && measure.shown != Shown::kAlways;
}));

}  // namespace

std::span<const Measure> Measures() { return kMeasures; }

}  // namespace podgpu
