// What happened to each GPU: since when it is in its state, since when it does nothing, its last
// XID, the energy that it has drawn, and samples of its activity, memory and power of the last
// minutes.
//
// The tick adds one sample per reading, at most one per second.  The memory of a GPU is allocated
// when the GPU is first seen; later ticks allocate nothing.  GPUs are identified by UUID, so a GPU
// keeps its history when the driver numbers it differently.  The tick takes the lock once, for
// less than a microsecond per GPU.  The HTTP thread takes it only while it copies facts for a new
// page, at most once per snapshot, so the tick waits for 20 us at most.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "facts/tick_facts.h"

namespace podgpu {

inline constexpr size_t kHistorySamples = 300;
inline constexpr int8_t kNoSample = -1;

// Percent of the whole, 0 to 100, or kNoSample; oldest first.
struct GpuSamples {
  std::vector<int8_t> sm, utilization, memory, power;
};

struct GpuTimes {
  std::optional<WallTime> state_since;  // Absent: since before podgpu started.
  // The last kernel, or the begin of the present allocation if that was later.  Absent while the
  // activity is not known.
  std::optional<WallTime> idle_since;
  bool idle_for_longer = false;  // `idle_since` is only when podgpu began to watch.
  std::optional<int64_t> last_xid;
  // Energy drawn since the energy counter was first read; absent if it never was.
  std::optional<double> energy_joules;
};

class GpuTimeline {
 public:
  // `period`: between readings.
  explicit GpuTimeline(std::chrono::milliseconds period);

  // Tick thread.  `now`: the time of the day.
  void Take(const TickFacts& facts, WallTime now);

  // Any thread.  Both are empty for an unknown UUID.
  GpuTimes TimesOf(std::string_view uuid) const;
  // The samples of the last five minutes.  Those of memory and power are absent until the total
  // memory and the power limit have been read.
  GpuSamples SamplesOf(std::string_view uuid) const;

  std::chrono::milliseconds step() const { return step_; }

 private:
  // Numbers as they are read, since the tick reads their wholes only while someone looks.
  struct Sample {
    static constexpr uint16_t kNone = 0xFFFF;
    int8_t sm = kNoSample;
    int8_t utilization = kNoSample;
    uint16_t memory = kNone;  // In 16 MiB.
    uint16_t watts = kNone;
  };
  struct Line {
    std::string uuid;
    std::optional<DeviceState> state;
    std::optional<WallTime> state_since;
    std::optional<WallTime> active_at;
    bool is_watched_since = false;
    std::optional<size_t> holders;  // A hash of the containers that hold it.
    std::optional<int64_t> last_xid;
    std::optional<double> counter_mj;  // The newest reading of the energy counter.
    double drawn_mj = 0;
    double memory_mib = 0, limit_watts = 0;  // The newest that are known; 0: none.
    std::array<Sample, kHistorySamples> ring{};
    size_t next = 0;
    size_t count = 0;
  };
  struct Rows;

  void FindLines(const Topology& topology) PODGPU_REQUIRES(mutex_);
  void TakeState(DeviceState state, WallTime now, Line& line) const PODGPU_REQUIRES(mutex_);
  void TakeHolders(const TickFacts& facts, WallTime now) PODGPU_REQUIRES(mutex_);
  void TakeGrid(const Grid& grid, const Rows& rows, size_t gpu, WallTime now, Line& line) const
      PODGPU_REQUIRES(mutex_);
  static void TakeEnergy(double counter_mj, Line& line);
  size_t StepsUntil(Instant read_at) PODGPU_REQUIRES(mutex_);
  const Line* Find(std::string_view uuid) const PODGPU_REQUIRES(mutex_);

  const std::chrono::milliseconds step_;
  // A Published would need a copy of 300 samples per GPU at each tick, which costs more than this
  // lock.
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Line>> lines_ PODGPU_GUARDED_BY(mutex_);
  // Indices into `lines_`, by index of the GPU.
  std::vector<size_t> by_gpu_ PODGPU_GUARDED_BY(mutex_);
  std::shared_ptr<const Topology> topology_ PODGPU_GUARDED_BY(mutex_);
  std::shared_ptr<const Owners> owners_ PODGPU_GUARDED_BY(mutex_);
  std::optional<Instant> sampled_at_ PODGPU_GUARDED_BY(mutex_);
};

}  // namespace podgpu
