// What only NVML knows of a device: the UUIDs of MIG devices and the minor numbers of GPUs.
//
// The kubelet names a MIG device by a UUID that DCGM does not tell, so attribution needs NVML
// beside DCGM.  It is never fatal: without it the topology says why (nvml_absence), and MIG UUIDs
// stay as last known for the same layout, or empty.  The driver is asked only when there is
// something to ask, and held only during that; a look that hangs is given up, its thread written
// off, and no other is begun until it returns.  Fill belongs to the source thread, GiveUp to any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/status.h"
#include "topology/topology.h"

namespace podgpu {

class NvmlIdentity {
 public:
  // `load` is called until it succeeds once.  `written_off` counts looks that hang.
  explicit NvmlIdentity(std::function<StatusOr<abi::NvmlLibrary>()> load,
                        ThreadTally written_off = NewThreadTally())
      : load_(std::move(load)), queries_(1, std::move(written_off)) {}

  // Sets minor numbers, MIG UUIDs and nvml_absence of `topology`.
  void Fill(Topology& topology, Instant now);

  // Ends the wait of Fill for a driver that does not answer; false when it does not wait.
  bool GiveUp() noexcept { return queries_.GiveUp(); }

 private:
  bool IsComplete(const Topology& topology, Instant now) const;
  // Empty, or why something stays unknown.
  std::string Ask(Topology& topology, Instant now);
  void RecallMigUuids(Topology& topology) const;

  std::function<StatusOr<abi::NvmlLibrary>()> load_;
  ForeignCalls queries_;
  bool is_loaded_ = false;
  abi::NvmlLibrary library_;
  std::map<std::string, uint32_t> minor_numbers_;  // By UUID: a lost GPU keeps its own.
  std::vector<GpuInstance> instances_;             // With the MIG UUIDs that were told last.
  std::optional<Instant> told_at_;                 // Nothing when the answer was not whole.
};

}  // namespace podgpu
