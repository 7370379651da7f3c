// Facts that only NVML has, added to DCGM's topology: the UUIDs of MIG devices and the minor
// numbers of GPUs.
//
// The kubelet names a MIG device by its UUID, which DCGM does not report, so attribution needs NVML
// beside DCGM. A failure is never fatal: the topology gives the reason (nvml_absence), and MIG
// UUIDs keep their last values for the same layout, or stay empty.  The driver is queried only when
// something is unknown, and held only during the query.  A query that hangs is given up and its
// thread written off; the next query starts after that thread has returned.  Fill is called on the
// source thread, GiveUp on any.
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
  // `load` is called until it succeeds once.  `written_off` counts queries that hang.
  explicit NvmlIdentity(std::function<StatusOr<abi::NvmlLibrary>()> load,
                        ThreadTally written_off = NewThreadTally())
      : load_(std::move(load)), queries_(1, std::move(written_off)) {}

  // Sets minor numbers, MIG UUIDs and nvml_absence of `topology`.
  void Fill(Topology& topology, Instant now);

  // Ends Fill's wait for a driver that does not answer; returns false when Fill does not wait.
  bool GiveUp() noexcept { return queries_.GiveUp(); }

 private:
  bool IsComplete(const Topology& topology, Instant now) const;
  // Queries NVML. Returns why something stays unknown; empty when nothing does.
  std::string Ask(Topology& topology, Instant now);
  void RecallMigUuids(Topology& topology) const;

  std::function<StatusOr<abi::NvmlLibrary>()> load_;
  ForeignCalls queries_;
  bool is_loaded_ = false;
  abi::NvmlLibrary library_;
  // Numbers by UUID, so a lost GPU keeps its number.
  std::map<std::string, uint32_t> minor_numbers_;
  std::vector<GpuInstance> instances_;  // Instances with the last known MIG UUIDs.
  std::optional<Instant> told_at_;      // Nothing when the last answer was incomplete.
};

}  // namespace podgpu
