// Facts about a device between two readings of its energy counter.
//
// The ledger takes one DeviceInterval per reading. OpenInterval adds several up while the counter
// cannot be read; the next reading is then shared by everything that happened since the last one.
// Busy times are therefore amounts, which add up, not rates. Plain data and one function; one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "process/keys.h"

namespace podgpu {

// Quality of the residents' busy times. A sum of intervals has the worst quality.
enum class BusySamples : uint8_t {
  kMeasured,
  kNotSupported,  // The driver has no samples for this device: shares are equal.
  kMissing,       // No samples this time, so the energy is unattributed.
};

inline constexpr uint32_t kWholeGpu = 0xffffffff;

// A process that was on the device at any time in the interval.
struct Resident {
  ProcessKey process;
  uint32_t instance = kWholeGpu;  // Id of the GPU instance, in MIG mode.
  uint64_t busy = 0;              // SM time, in one unit for all residents of the device.
  bool listed = true;             // Has rows of its own. False: it is outside Kubernetes.
  PodNumber pod = kNoPod;
};

struct InstanceActivity {
  uint32_t instance = 0;
  uint64_t busy = 0;  // Activity x size x time, in one unit for all instances of the device.
};

struct DeviceInterval {
  DeviceNumber device;
  Instant at;                          // Time at which the counter was read, or should have been.
  std::optional<uint64_t> counter_mj;  // Absent: it could not be read; the interval goes on.
  bool residents_known = true;
  BusySamples samples = BusySamples::kMeasured;
  std::vector<Resident> residents;
  std::vector<InstanceActivity> instances;  // Not empty: a MIG device with measured instances.
  std::vector<PodNumber> holders;           // The pods to which the device is allocated, each once.
};

struct OpenInterval {
  bool residents_known = true;
  BusySamples samples = BusySamples::kMeasured;
  std::vector<Resident> residents;          // One entry per (process, instance), ascending.
  std::vector<InstanceActivity> instances;  // One entry per instance, ascending.

  // Adds the facts of `interval`; a sum that overflows stays at the largest number.
  void Add(const DeviceInterval& interval);
  // Empties it and keeps its memory.
  void Clear();

  // Returns whether there is exactly one resident process.
  bool Exclusive() const {
    return !residents.empty() && residents.front().process == residents.back().process;
  }
};

}  // namespace podgpu
