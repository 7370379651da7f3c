// What is found out about GPUs beside the values of their fields: events that were counted, the
// verdicts of health watches, and whether one reaches another over NVLink.
//
// Part of each grid (grid.h).  Whoever has a grid read says in `asked` what is wanted; the source
// fills the rest, by index of the GPU in the grid's topology.  A MIG instance has no findings of
// its own: events are the GPU's.  Memory is kept from reading to reading, so that a steady reading
// allocates nothing.  Plain data.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace podgpu {

// What is to be found out.
struct FindingsAsked {
  std::chrono::milliseconds xid_window{0};
  std::chrono::milliseconds clock_window{0};  // 0: reasons of the clocks are not counted.
  bool health = false;
  bool peers = false;
  bool operator==(const FindingsAsked&) const = default;
};

// What is known of one XID code on one GPU.
struct XidCount {
  uint16_t gpu = 0;
  int64_t code = 0;
  uint64_t total = 0;      // Events since the source listens.
  uint64_t in_window = 0;  // Events in the window that ends with the reading.
  int64_t last_us = 0;     // The stamp of the last one, since 1970.
  bool operator==(const XidCount&) const = default;
};

// Reasons for which clocks are held back: bits 0 to 8 of field 112.
inline constexpr size_t kClockEventCount = 9;

// The counts of one GPU, in windows that end with the reading.
struct GpuEventCounts {
  bool xids_known = false;  // Whether anybody would have told of an XID.
  uint64_t xids = 0;        // Of any code.
  bool clocks_known = false;
  uint64_t clock_samples = 0;
  std::array<uint64_t, kClockEventCount> clock_events{};  // Samples with this bit.
  bool operator==(const GpuEventCounts&) const = default;
};

// The health watches, as DCGM numbers them from bit 0 on; the last is for a verdict on all of them
// together.
inline constexpr size_t kHealthWatchCount = 11;

struct HealthVerdict {
  int32_t result = 0;  // 0 passes, 10 warns, 20 fails.
  uint32_t code = 0;   // DCGM_FR, why; 0: nothing.
  bool operator==(const HealthVerdict&) const = default;
};

struct GpuHealth {
  bool is_known = false;
  std::array<HealthVerdict, kHealthWatchCount> watches{};
};

// What is not told, and why.
struct FindingsNote {
  bool is_fault = false;  // Else the node has nothing to tell.
  std::string text;       // "health: the engine ...", for people.
};

struct Findings {
  FindingsAsked asked;
  std::vector<XidCount> xids;        // Ascending by GPU, then code.
  std::vector<GpuEventCounts> gpus;  // By GPU; empty: the source has counted nothing.
  std::vector<GpuHealth> health;     // By GPU; empty: not asked, or not told.
  // The state of the way from GPU i to GPU j at i * GPUs + j; empty likewise.
  std::vector<int32_t> peers;
  // On health and peers.  Null: all is told, or the source says nothing; likewise the next.
  std::shared_ptr<const FindingsNote> note;
  std::shared_ptr<const FindingsNote> events_note;

  // Forgets all but the memory.
  void Clear();
};

// Whether a page of `a` has the same lines as one of `b`, whatever their numbers.
bool SameLines(const Findings& a, const Findings& b);

}  // namespace podgpu
