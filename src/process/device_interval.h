// What is known of a device between two readings of its energy counter.
//
// DeviceInterval is what the ledger is fed; OpenInterval adds up several of them while the counter
// cannot be read, so that its next reading is shared out by all that happened since the last one.
// Amounts of busy time are therefore amounts, which add up, and no rates.  Plain data and one
// function; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "process/keys.h"

namespace podgpu {

// What is known of the residents' busy time.  Of several intervals the worst word holds.
enum class BusySamples : uint8_t {
  kMeasured,
  kNotSupported,  // The driver has none for this device: the split is equal.
  kMissing,       // This time there are none, so nobody can say whose the energy was.
};

inline constexpr uint32_t kWholeGpu = 0xffffffff;

// A process that was on the device at any time of the interval.
struct Resident {
  ProcessKey process;
  uint32_t instance = kWholeGpu;  // GPU instance id, in MIG mode.
  uint64_t busy = 0;              // SM time, in one unit for all residents of the device.
  bool listed = true;             // Has rows of its own; else it is outside Kubernetes.
  PodNumber pod = kNoPod;
};

struct InstanceActivity {
  uint32_t instance = 0;
  uint64_t busy = 0;  // Activity x size x time, in one unit for all instances of the device.
};

struct DeviceInterval {
  DeviceNumber device;
  Instant at;                          // When the counter was read, or was to be.
  std::optional<uint64_t> counter_mj;  // Absent: the interval goes on until it is there again.
  bool residents_known = true;
  BusySamples samples = BusySamples::kMeasured;
  std::vector<Resident> residents;
  std::vector<InstanceActivity> instances;  // Not empty: a MIG device whose instances are measured.
  std::vector<PodNumber> holders;           // The pods to which the device is allocated, each once.
};

struct OpenInterval {
  bool residents_known = true;
  BusySamples samples = BusySamples::kMeasured;
  std::vector<Resident> residents;          // Each (process, instance) once, ascending.
  std::vector<InstanceActivity> instances;  // Each once, ascending.

  // Adds what `interval` says; sums that no longer fit stay at the largest number.
  void Add(const DeviceInterval& interval);
  // Begins anew, keeping its memory.
  void Clear();

  // Whether the residents are one single process.
  bool Exclusive() const {
    return !residents.empty() && residents.front().process == residents.back().process;
  }
};

}  // namespace podgpu
