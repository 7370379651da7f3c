// The state page: 4 KiB from which every face of a simulated node computes the world time.
//
// podgpu-sim writes it (run_writer.h); every other process maps it read-only (run_directory.h).
// Each field is eight bytes, aligned, and written by one store, so no reader sees half a number.  A
// clock has several fields: the writer fills the slot that is not in force and then raises
// clock_generation, whose lowest bit names the slot in force.  The magic is written last: a page
// without it is not finished.  The layout is the same in every build; faces of other builds of this
// format read it.  Standard library only, for the faces.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sim/world/world.h"

namespace podgpu::sim {

inline constexpr uint64_t kStateMagic = 0x3145474150555047;  // "GPUPAGE1" as bytes in memory.
inline constexpr size_t kStatePageBytes = 4096;

// How world time follows from the machine's clock.
enum class ClockMode : uint64_t {
  kReal = 0,    // At the machine's pace.
  kScaled = 1,  // speed_numerator / speed_denominator times as fast.
  kManual = 2,  // manual_time_us, independent of the machine.
};

// World time = base_world_us + (CLOCK_BOOTTIME - base_boottime_ns) / 1000 x speed.
struct ClockSlot {
  std::atomic<uint64_t> mode;
  std::atomic<int64_t> base_boottime_ns;
  std::atomic<int64_t> base_world_us;
  std::atomic<int64_t> speed_numerator;
  std::atomic<int64_t> speed_denominator;
};

struct StatePage {
  std::atomic<uint64_t> magic;
  std::atomic<int64_t> epoch_boottime_ns;  // CLOCK_BOOTTIME at world time 0, when `run` began.
  std::atomic<int64_t> epoch_realtime_ns;  // Civil time at world time 0, since 1970.
  std::atomic<uint64_t> clock_generation;  // Lowest bit: the slot in force.
  std::array<ClockSlot, 2> clocks;
  std::atomic<int64_t> manual_time_us;
  std::atomic<uint64_t> log_generation;     // 0: world.bin; above: control.bin.
  std::atomic<uint64_t> engine_generation;  // Raised at each start of the engine process.
  std::atomic<uint64_t> engine_up;          // 1 while the engine process listens.
  std::atomic<uint64_t> time_scale;  // Divides the vendor's own time-outs, for tests; at least 1.
  std::atomic<uint64_t> engine_delays;   // 1: calls take the time that they take with DCGM.
  std::atomic<int64_t> engine_began_us;  // World time of its last restart; 0: never restarted.
  // Raised after each change of the clock, of manual time and of the control log.  Its lower half
  // is a futex, on which calls wait that block in the driver.
  std::atomic<uint64_t> changes;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<uint64_t>) == 8 && sizeof(ClockSlot) == 40);
static_assert(offsetof(StatePage, clocks) == 32 && offsetof(StatePage, manual_time_us) == 112);
static_assert(offsetof(StatePage, time_scale) == 144 && sizeof(StatePage) <= kStatePageBytes);

// The world time that `page` shows at the machine's time `boottime_ns`.
inline TimeUs WorldTimeUs(const StatePage& page, int64_t boottime_ns) {
  for (;;) {
    const uint64_t generation = page.clock_generation.load(std::memory_order_acquire);
    const ClockSlot& clock = page.clocks[generation & 1];
    const auto mode = static_cast<ClockMode>(clock.mode.load());
    TimeUs now_us = page.manual_time_us.load(std::memory_order_acquire);
    if (mode != ClockMode::kManual) {
      const Int128 elapsed_ns = Int128{boottime_ns} - clock.base_boottime_ns.load();
      const Int128 scaled_ns = elapsed_ns * clock.speed_numerator.load();
      now_us = clock.base_world_us.load() +
               static_cast<int64_t>(scaled_ns / (Int128{1000} * clock.speed_denominator.load()));
    }
    if (page.clock_generation.load(std::memory_order_acquire) == generation) {
      return now_us;
    }
  }
}

// The machine time in which world time `t` comes, 0 when it has passed; INT64_MAX: not by itself.
inline int64_t MicrosecondsUntil(const StatePage& page, TimeUs t, int64_t boottime_ns) {
  const ClockSlot& clock = page.clocks[page.clock_generation.load(std::memory_order_acquire) & 1];
  if (t == INT64_MAX || static_cast<ClockMode>(clock.mode.load()) == ClockMode::kManual) {
    return INT64_MAX;
  }
  const Int128 world_us = Int128{t} - WorldTimeUs(page, boottime_ns);
  const Int128 real_us = world_us * clock.speed_denominator.load() / clock.speed_numerator.load();
  return world_us <= 0 ? 0 : static_cast<int64_t>(real_us) + 1;
}

}  // namespace podgpu::sim
