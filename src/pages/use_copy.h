// A copy of what the accounts of processes say now, for pages that the HTTP thread makes.
//
// Only the tick thread changes the accounts.  Tick::CopyUse makes the copy on the thread that asks,
// so the tick pays nothing for it.  Pods and processes have the names of the page's rows.  Plain
// data and one function; the caller keeps the accounts from changing during the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/process_accounts.h"
#include "usage/process_rows.h"

namespace podgpu {

struct CopiedProcess {
  ProcessOnDevice key;
  uint32_t instance = kWholeGpu;
  bool computes = false, draws = false;
  bool listed = false;  // Has rows of its own; false: it is outside Kubernetes.
  PodNumber pod = kNoPod;
  std::string name;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> sm_percent;
  std::optional<WallTime> started_at;
  EnergyByMethod energy{};
};

// A pod that holds a device or runs there now, and whose name is known.
struct CopiedPod {
  PodOnDevice key;
  std::string pod_namespace, pod, container;
  std::optional<uint32_t> sm_percent;
  std::optional<uint64_t> memory_bytes;
  std::optional<WallTime> active_at;  // Last time at which it was seen active.
  std::chrono::microseconds allocated{};
  std::chrono::microseconds idle{};
  EnergyByMethod energy{};
};

struct UseCopy {
  bool is_known = false;           // False: processes are not read, or the last reading is too old.
  std::vector<std::string> uuids;  // UUIDs by device number.
  std::vector<CopiedProcess> processes;
  // For devices without a running process: the processes that ended last, as long as their rows
  // stay.
  std::vector<CopiedProcess> last_seen;
  std::vector<CopiedPod> pods;

  // Returns nothing for a device that the processes' thread does not know.
  std::optional<DeviceNumber> DeviceOf(std::string_view uuid) const;
};

// `is_fresh`: the last reading is not too old.
UseCopy CopyUse(const ProcessAccounts& accounts, const ProcessNames& names, bool is_fresh);

}  // namespace podgpu
