// The world image: the bytes that the compiler writes and World reads.
//
// One header, a directory of sections, then the sections: arrays of the fixed records below, each
// aligned to 8 bytes, in the byte order of the machine (images are made where they are read; the
// format version says when a reader is too old).  Records refer to each other by index and to text
// by offset.  Nothing here owns memory.  World::Open checks every index once; after that reads are
// unchecked.  Shared by compiler and evaluator only.  Standard library only, for the faces.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "sim/world/world.h"

namespace podgpu::sim {

inline constexpr std::array<char, 8> kImageMagic = {'P', 'O', 'D', 'G', 'P', 'U', 'W', '1'};
inline constexpr uint32_t kImageVersion = 7;
inline constexpr uint32_t kNone = 0xffffffff;  // "No such record" in an index.
inline constexpr TimeUs kForever = INT64_MAX;  // The stop time of a record that never stops.
inline constexpr TimeUs kLastTimeUs = INT64_C(1) << 62;  // Later times are read as this one.
inline constexpr size_t kImageLimitBytes = size_t{128} << 20;

// The time that is read for `t`.
constexpr TimeUs Readable(TimeUs t) { return std::clamp<TimeUs>(t, 0, kLastTimeUs); }

enum class Section : uint32_t {
  kText,               // char
  kNode,               // NodeRecord, exactly one
  kGpus,               // GpuRecord
  kLayouts,            // LayoutRecord
  kInstances,          // InstanceRecord
  kComputes,           // ComputeRecord
  kEras,               // EraRecord
  kSegments,           // SegmentRecord
  kChannels,           // ChannelRecord
  kChannelEras,        // ChannelEraRecord
  kCells,              // CellRecord
  kNodeEras,           // NodeEraRecord
  kResidentPods,       // uint32_t, index of a PodRecord
  kResidentProcesses,  // uint32_t, index of a ProcessRecord
  kPods,               // PodRecord
  kContainers,         // ContainerRecord
  kDevices,            // DeviceRecord
  kProcesses,    // ProcessRecord: those of pods and orphans by (pid, start), then those of churns
  kChurns,       // ChurnRecord, by first_pid
  kFaults,       // FaultRecord, by start
  kFaultCalls,   // TextRef, patterns
  kFaultFields,  // uint32_t, DCGM field ids
};
inline constexpr size_t kSectionCount = 22;

struct SectionEntry {
  uint64_t offset_bytes, record_count;
};

struct ImageHeader {
  std::array<char, 8> magic;
  uint32_t version, section_count;
  uint64_t size_bytes, scenario_hash, seed;
  std::array<SectionEntry, kSectionCount> sections;
};

// A 128-bit integer that needs only 8-byte alignment.
struct Wide {
  uint64_t low;
  int64_t high;
};
inline Wide ToWide(Int128 value) {
  return {static_cast<uint64_t>(value), static_cast<int64_t>(value >> 64)};
}
inline Int128 FromWide(Wide value) {
  return static_cast<Int128>(value.high) * (static_cast<Int128>(1) << 64) +
         static_cast<Int128>(value.low);
}

struct TextRef {
  uint32_t offset, length;
};
struct Range {
  uint32_t first, count;
};

// What a channel accumulates: the integrals in their enum's order (energy is the dynamic part), and
// memory in use, whose rate is the reading.
inline constexpr uint32_t kMemoryChannel = 17;
inline constexpr uint32_t kEntityChannelCount = 18;
enum class ProcessChannel : uint32_t {
  kEnergy,
  kSm,
  kDram,
  kEncoder,
  kDecoder,
  kJpeg,
  kOfa,
  kMemory
};
inline constexpr uint32_t kProcessChannelCount = 8;

inline constexpr uint32_t kNodeHasV1 = 1, kNodeHasV1Alpha1 = 2, kNodeHasInventory = 4,
                          kNodeHasProfilingModule = 8, kNodeAccounts = 16,
                          kNodeFirstQuirk = 32,  // 32 << DriverQuirk
    kNodeTwoNumaNodes = uint32_t{1} << 30U, kNodeKeepsFinished = uint32_t{1} << 31U;
struct NodeRecord {
  TextRef name, scenario, driver, nvml, dcgm, engine_tcp, engine_unix, cgroup_driver,
      cgroup_runtime, cgroup_seen_from;
  int64_t epoch_unix_us;
  int32_t cuda, cgroup_version;
  uint32_t flags;
  int32_t nvswitch_count;
  std::array<int32_t, kMostCpus> cpu_cores;  // 0 for a CPU that the node lacks.
};

inline constexpr uint32_t kHasGpm = 1, kHasMemoryTemperature = 2, kHasJpegOfa = 4,
                          kHasRowRemapping = 8, kHasRetiredPages = 16, kHasEcc = 32, kHasFan = 64,
                          kMigCapable = 128, kPowerIsAverage = 256, kSharedByMps = 512;
struct NoiseWave {
  int64_t amplitude_mw, period_us, phase_us;
};
struct GpuRecord {
  TextRef uuid, pci_bus_id, serial, model, brand, vbios, inforom_image, architecture;
  int64_t idle_mw, limit_mw, min_limit_mw, max_limit_mw;
  int64_t memory_total_bytes, memory_reserved_bytes, bar1_total_bytes;
  int64_t energy_offset_mj, refresh_phase_us;
  double time_constant_us;
  std::array<NoiseWave, 3> noise;
  int32_t minor_number, compute_major, compute_minor, architecture_number;
  int32_t max_sm_clock_mhz, max_memory_clock_mhz, idle_sm_clock_mhz, sm_count;
  int32_t slowdown_temperature_c, shutdown_temperature_c, nvlink_count, pcie_generation;
  int32_t pcie_width;
  uint32_t flags;
  Range eras;
  uint32_t first_channel, reserved;
};

// The instances of a GPU between two MIG changes, and the devices that the allocator offers.
struct LayoutRecord {
  uint32_t mig_enabled, reserved;
  Range instances, devices;
};
struct InstanceRecord {
  TextRef profile;
  int64_t memory_total_bytes, memory_reserved_bytes;
  int32_t gpu_instance_id, dcgm_entity_id, compute_slices, memory_slices;
  int32_t placement_start, profile_id, sm_count;
  uint32_t first_channel;
  Range computes;
};
struct ComputeRecord {
  TextRef mig_uuid, profile;
  int32_t compute_instance_id, dcgm_entity_id, slices;
  uint32_t first_channel;
};

// A stretch of a GPU's time in which the same processes are resident under the same limits, so
// everything repeats with the hyperperiod.  Segments are relative to the era's start.
struct EraRecord {
  int64_t start_us, hyperperiod_us, limit_mw;
  Range segments;
  uint32_t layout, reserved;
  double start_c, memory_start_c;  // Temperatures at the start,
  double limit_c, memory_limit_c;  // the limits of the temperatures at cycle starts,
  double decay;                    // and how far they approach them in one hyperperiod.
};
struct SegmentRecord {
  int64_t start_us;
  int32_t sm_clock_mhz;
  uint32_t clock_event_reasons;
  double target_c, memory_target_c;       // The limits of the temperatures in the segment.
  double decay, shift_c, memory_shift_c;  // Segment start = decay x cycle start + shift.
};

// One integral of one entity or process over the eras in which it can change.
struct ChannelRecord {
  Wide final_value;    // After the last of its eras.
  uint32_t first_era;  // Relative to the GPU's eras.
  Range channel_eras;
  uint32_t reserved;
};
struct ChannelEraRecord {
  Wide base, per_cycle;
  uint32_t first_cell;  // One cell per segment; kNone when the rate is 0 throughout.
  uint32_t reserved;
};
struct CellRecord {
  Wide prefix;
  int64_t rate;
};

template <typename Record>
inline constexpr bool kIsRecord =
    std::is_trivially_copyable_v<Record> && alignof(Record) <= 8 && sizeof(Record) % 4 == 0;
static_assert(kIsRecord<ImageHeader> && kIsRecord<NodeRecord> && kIsRecord<GpuRecord>);
static_assert(kIsRecord<LayoutRecord> && kIsRecord<InstanceRecord> && kIsRecord<ComputeRecord>);
static_assert(sizeof(EraRecord) == 80 && sizeof(SegmentRecord) == 56 && sizeof(CellRecord) == 24);
static_assert(sizeof(ChannelRecord) == 32 && sizeof(ChannelEraRecord) == 40);

}  // namespace podgpu::sim
