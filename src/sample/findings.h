// Facts about GPUs besides field values: event counts, results of health watches, and NVLink
// reachability between GPUs.
//
// Part of each grid (grid.h). The caller that requests a reading sets `asked`; the source fills the
// rest, by index of the GPU in the grid's topology. A MIG instance has no findings of its own:
// events belong to the GPU. Memory is kept between readings, so a steady reading allocates nothing.
// Plain data.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fields/field.h"

namespace podgpu {

// The requested findings.
struct FindingsAsked {
  std::chrono::milliseconds xid_window{0};
  std::chrono::milliseconds clock_window{0};  // 0: clock event reasons are not counted at all.
  bool health = false;
  bool peers = false;
  bool operator==(const FindingsAsked&) const = default;
};

// Counts of one XID code on one GPU.
struct XidCount {
  uint16_t gpu = 0;
  int64_t code = 0;
  uint64_t total = 0;      // Events since the source began to listen.
  uint64_t in_window = 0;  // Events in the window that ends at the reading.
  int64_t last_us = 0;     // Time stamp of the last event, in microseconds since 1970.
  bool operator==(const XidCount&) const = default;
};

// Reasons for reduced clocks: bits 0 to 8 of field 112.
inline constexpr size_t kClockEventCount = 9;

// The counts of one GPU, in windows that end at the reading where nothing else is said.
struct GpuEventCounts {
  bool xids_known = false;  // False: no source listens for XIDs, so 0 means nothing.
  uint64_t xids = 0;        // Sum over all codes.
  bool clocks_known = false;
  uint64_t clock_samples = 0;
  std::array<uint64_t, kClockEventCount> clock_events{};  // Samples with this bit.
  // How often this bit was set in a sample and not in the one before, since the source began to
  // count; unlike the others, not in a window.
  std::array<uint64_t, kClockEventCount> clock_event_totals{};
  bool operator==(const GpuEventCounts&) const = default;
};

// Health watches, numbered as in DCGM from bit 0; the last entry is the overall result.
inline constexpr size_t kHealthWatchCount = 11;

struct HealthVerdict {
  int32_t result = 0;  // 0 passes, 10 warns, 20 fails.
  uint32_t code = 0;   // The DCGM_FR code of the reason; 0: none.
  // DCGM_ERROR_* and DCGM_FR_EC_* of the code, from DCGM's library; -1: it does not tell them.
  int32_t severity = -1;
  int32_t category = -1;
  bool operator==(const HealthVerdict&) const = default;
};

struct GpuHealth {
  bool is_known = false;
  std::array<HealthVerdict, kHealthWatchCount> watches{};
};

// Why findings are missing.
struct FindingsNote {
  bool is_fault = false;  // False: the node has none to report, which is normal.
  std::string text;       // "health: the engine ...", for people.
};

// Fields that the source can never give on this node, though DCGM has them.
struct LackedFields {
  std::vector<const Field*> fields;  // Those of the fields that are read.
  std::string why;                   // "NVML gives them from Hopper on", for people.
};

struct Findings {
  FindingsAsked asked;
  std::vector<XidCount> xids;        // Ascending by GPU, then code.
  std::vector<GpuEventCounts> gpus;  // One for each GPU; empty: the source has no counts.
  std::vector<GpuHealth> health;     // One for each GPU; empty: not requested, or not available.
  // State of the path from GPU i to GPU j, at index i * GPUs + j; empty: not requested, or not
  // available.
  std::vector<int32_t> peers;
  // Notes on health and peers, then on events. Null: all findings are present, or the source gave
  // no note.
  std::shared_ptr<const FindingsNote> note;
  std::shared_ptr<const FindingsNote> events_note;
  std::shared_ptr<const LackedFields> lacked;  // Null: none.
  bool util_ratio_is_percent = false;          // DCGM_FI_DEV_GPU_UTIL_RATIO is one in this grid.

  // Empties it and keeps its memory.
  void Clear();
};

// Returns whether pages of `a` and `b` have the same lines, apart from the numbers.
bool SameLines(const Findings& a, const Findings& b);

}  // namespace podgpu
