// Names for the fields that need special rules in code.
//
// Most code takes fields from the catalogue or the counter list and knows no field ids. If one
// field needs a rule, for example XID, whose time stamp is that of the event, its id is here, once
// for all rooms. A test compares each with the catalogue. Constants.
#pragma once

#include <cstdint>

namespace podgpu::field_ids {

inline constexpr uint16_t kName = 50;
inline constexpr uint16_t kInforomChecksum = 83;
inline constexpr uint16_t kInforomValid = 84;
inline constexpr uint16_t kClockReasons = 112;  // Reasons for reduced clocks: a mask.
inline constexpr uint16_t kPower = 155;
inline constexpr uint16_t kEnergy = 156;      // The energy counter, in mJ.
inline constexpr uint16_t kPowerLimit = 164;  // The limit that is in force.
inline constexpr uint16_t kFanSpeed = 191;
inline constexpr uint16_t kGpuUtilization = 203;
inline constexpr uint16_t kGpuUtilRatio = 1613;  // DCGM 4.6 used this name for 203, in percent.
inline constexpr uint16_t kXid = 230;  // Comes from events; its time stamp is that of the event.
inline constexpr uint16_t kMemoryTotal = 250;
inline constexpr uint16_t kMemoryFree = 251;
inline constexpr uint16_t kMemoryUsed = 252;
inline constexpr uint16_t kRemapFailed = 395;   // 1: a row of memory could not be remapped.
inline constexpr uint16_t kRemapPending = 396;  // 1: rows wait for a reset of the GPU.

// Activity of the compute engine, and activity of the SMs.
inline constexpr uint16_t kEngineActivity = 1001;
inline constexpr uint16_t kSmActivity = 1002;

// The range in which dcgm-exporter searches for profiling fields.
inline constexpr uint16_t kFirstProfiling = 1000;
inline constexpr uint16_t kLastProfiling = 1099;

constexpr bool IsMemory(uint16_t id) { return id >= kMemoryTotal && id <= kMemoryUsed; }

// Fields from which podgpu itself judges a device. They may be read although no metric asks for
// them, so their values do not show that the metrics have values.
constexpr bool IsJudged(uint16_t id) {
  return id == kXid || id == kClockReasons || id == kRemapFailed || id == kRemapPending;
}

}  // namespace podgpu::field_ids
