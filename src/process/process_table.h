// The processes on all devices, from start until some time after their end.
//
// A row is a process on a device, keyed by pid and start time; a reused pid makes a new row. A row
// is added when the driver lists the process. It ends when a list of its device lacks the process,
// or the device is missing; it then keeps its last numbers for the retention and is removed. A
// process that comes back within the retention continues its row. A pod is forgotten with its last
// row, unless it holds a device. A list that could not be read ends no process. Each reading also
// gives the ledger its intervals: every process that was there at the start, at the end, or was
// busy in between. A process that lived between two readings has a row only if the driver's
// accounting or samples report it, and its container is unknown.
//
// A cgroup may hold only the id of a container; then a list of pods tells the pod. On a node of
// Kubernetes a container without a pod is outside Kubernetes, like a process without a container:
// it has a row, but no series of its own. Pure; allocates only for new processes. One thread, the
// tick's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "process/device_interval.h"
#include "process/pod_numbers.h"
#include "process/process_reading.h"

namespace podgpu {

struct ProcessRow {
  std::shared_ptr<const ProcessIdentity> identity;  // Null when /proc did not tell.
  uint32_t instance = kWholeGpu;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> sm_percent;  // Absent when the driver has no samples.
  std::optional<uint32_t> memory_percent;
  std::optional<WallTime> started_at;  // From accounting; only when there is no identity.
  PodNumber pod = kNoPod;
  bool listed = false;  // Has series of its own.
  bool active = true;
  // The driver lists it as a compute process, as a graphics process.
  bool computes = false, draws = false;
  Instant ended_at;  // Meaningful when it is not active.
  // Ended, and another process with its pid has taken over the labels of its series.
  bool replaced = false;
  bool was_unlisted = false;  // Has lost its series in this reading.

  // State of the reading that is being taken.
  bool seen = false;
  uint64_t busy = 0;
};

struct ProcessTableOptions {
  Duration retention = std::chrono::minutes(5);  // Limit for rows after the end of their process.
  bool all_processes = false;                    // Also list processes outside Kubernetes.
};

// The uid of the pod of each container, in the form that cgroups carry, by the id of the container.
using PodsOfContainers = std::map<std::string, std::string, std::less<>>;

class ProcessTable {
 public:
  using Rows = std::map<ProcessKey, ProcessRow>;

  explicit ProcessTable(const ProcessTableOptions& options) : options_(options) {}

  void Take(const ProcessReading& reading);
  // Replaces the known containers. The first call tells that this is a node of Kubernetes; before
  // it, a process in any container has series of its own. A process keeps the pod that it has.
  void TakeContainers(PodsOfContainers pods) { containers_ = std::move(pods); }
  bool is_in_kubernetes() const { return containers_.has_value(); }

  // Results of the last reading: intervals for the ledger to record, then processes to forget
  // because their rows or their series are gone.
  const std::vector<DeviceInterval>& intervals() const { return intervals_; }
  const std::vector<ProcessOnDevice>& forgotten() const { return forgotten_; }
  const std::vector<PodNumber>& forgotten_pods() const { return forgotten_pods_; }

  const std::map<DeviceNumber, Rows>& devices() const { return devices_; }
  PodNumbers& pods() { return pods_; }
  const PodNumbers& pods() const { return pods_; }
  // Grows when a device is added, or a listed row is added, removed or better identified: these
  // change the series.
  uint64_t generation() const { return generation_; }

 private:
  void TakeLists(const DeviceReading& reading, Rows& rows);
  void Enter(const ListedProcess& process, const DeviceReading& reading, Rows& rows);
  void Identify(const std::shared_ptr<const ProcessIdentity>& identity, Instant now,
                ProcessRow& row);
  bool IsListed(const ProcessRow& row) const;
  std::shared_ptr<const ProcessIdentity> WithPod(
      const std::shared_ptr<const ProcessIdentity>& identity) const;
  void EnterEnded(const EndedProcess& ended, Instant now, Rows& rows);
  void EnterBusy(const ProcessBusy& busy, Instant now, Rows& rows);
  void DropOld(Instant now, DeviceNumber device, Rows& rows);

  ProcessTableOptions options_;
  std::optional<PodsOfContainers> containers_;  // Nothing: perhaps no node of Kubernetes.
  PodNumbers pods_;
  std::map<DeviceNumber, Rows> devices_;
  std::vector<DeviceInterval> intervals_;  // One per device; their memory is reused.
  std::vector<ProcessOnDevice> forgotten_;
  std::vector<PodNumber> forgotten_pods_;
  uint64_t generation_ = 0;
};

}  // namespace podgpu
