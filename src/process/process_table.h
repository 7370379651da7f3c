// The processes on all devices, from their birth until some time after their death.
//
// A row is a process on a device: keyed by pid and start time, so that a pid that is used again is
// another row.  It is born when the driver lists it, ends when a list of its device lacks it (or
// its device is gone), keeps its last numbers for the retention, and then goes; if it comes back
// meanwhile it goes on.  A pod is forgotten with the last of its rows, unless it holds a device.
// A list that could not be read ends no process.  From each reading come also
// the intervals for the ledger: everyone who was there at its begin, at its end, or was told to
// have been busy in between.  Who lived between two readings has a row only where the driver's
// accounting or its samples tell of it, and is in no container that anybody knows.  Pure but for
// its memory, which it takes only for who is new.  One thread, the tick's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "process/device_interval.h"
#include "process/pod_book.h"
#include "process/process_reading.h"

namespace podgpu {

struct ProcessRow {
  std::shared_ptr<const ProcessIdentity> identity;  // Null where /proc did not tell.
  uint32_t instance = kWholeGpu;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> sm_percent;  // Absent where the driver has no samples.
  std::optional<uint32_t> memory_percent;
  std::optional<WallTime> started_at;  // By accounting, where there is no identity.
  PodNumber pod = kNoPod;
  bool listed = false;  // Has series of its own.
  bool active = true;
  Instant ended_at;  // Meaningful when it is not active.
  // It has ended, and another process with its pid has the labels that its series had.
  bool replaced = false;

  // Of the reading that is being taken.
  bool seen = false;
  uint64_t busy = 0;
};

struct ProcessTableOptions {
  Duration retention = std::chrono::minutes(5);  // Of rows, after the end of their process.
  bool all_processes = false;                    // List also those that are in no container.
};

class ProcessTable {
 public:
  using Rows = std::map<ProcessKey, ProcessRow>;

  explicit ProcessTable(const ProcessTableOptions& options) : options_(options) {}

  void Take(const ProcessReading& reading);

  // Of the last reading: what the ledger is to record, then the processes that it may forget, since
  // their rows are gone or have no series any more.
  const std::vector<DeviceInterval>& intervals() const { return intervals_; }
  const std::vector<ProcessOnDevice>& forgotten() const { return forgotten_; }
  const std::vector<PodNumber>& forgotten_pods() const { return forgotten_pods_; }

  const std::map<DeviceNumber, Rows>& devices() const { return devices_; }
  PodBook& pods() { return pods_; }
  const PodBook& pods() const { return pods_; }
  // Grows when a listed row comes, goes, or is known better: when series change.
  uint64_t generation() const { return generation_; }

 private:
  void TakeLists(const DeviceReading& reading, Rows& rows);
  void Enter(const ListedProcess& process, const DeviceReading& reading, Rows& rows);
  void Identify(const std::shared_ptr<const ProcessIdentity>& identity, Instant now,
                ProcessRow& row);
  void EnterEnded(const EndedProcess& ended, Instant now, Rows& rows);
  void EnterBusy(const ProcessBusy& busy, Instant now, Rows& rows);
  void DropOld(Instant now, DeviceNumber device, Rows& rows);

  ProcessTableOptions options_;
  PodBook pods_;
  std::map<DeviceNumber, Rows> devices_;
  std::vector<DeviceInterval> intervals_;  // As many as devices; their memory is reused.
  std::vector<ProcessOnDevice> forgotten_;
  std::vector<PodNumber> forgotten_pods_;
  uint64_t generation_ = 0;
};

}  // namespace podgpu
