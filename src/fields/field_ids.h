// The fields that code treats in a way of its own, by name.
//
// Most code takes a field as it comes, from the catalogue or the list of counters, and knows no
// number.  Where one field needs a rule, such as an XID whose stamp is that of the event, its
// number stands here once for all rooms.  A test compares each with the catalogue.  Constants.
#pragma once

#include <cstdint>

namespace podgpu::field_ids {

inline constexpr uint16_t kName = 50;
inline constexpr uint16_t kInforomChecksum = 83;
inline constexpr uint16_t kInforomValid = 84;
inline constexpr uint16_t kClockReasons = 112;  // Why clocks are held back: a mask.
inline constexpr uint16_t kEnergy = 156;        // The counter, in mJ.
inline constexpr uint16_t kFanSpeed = 191;
inline constexpr uint16_t kGpuUtilization = 203;
inline constexpr uint16_t kXid = 230;  // Told by events; its stamp is that of the event.
inline constexpr uint16_t kMemoryTotal = 250;
inline constexpr uint16_t kMemoryFree = 251;
inline constexpr uint16_t kMemoryUsed = 252;

// The range in which dcgm-exporter looks profiling fields up.
inline constexpr uint16_t kFirstProfiling = 1000;
inline constexpr uint16_t kLastProfiling = 1099;

}  // namespace podgpu::field_ids
