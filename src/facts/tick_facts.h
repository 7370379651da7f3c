// Everything that one tick knows: the newest values of all threads, collected once.
//
// The tick collects them when it begins.  All its later stages (join, plan, slots, condition) use
// the same facts, so one page never mixes two moments.  Plain data; it knows no thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "attribution/visible_namespaces.h"
#include "base/clock.h"
#include "base/process_usage.h"
#include "facts/gpu_freshness.h"
#include "facts/part_state.h"
#include "facts/thread_facts.h"
#include "facts/write_tally.h"
#include "http/counters.h"
#include "sample/grid.h"

namespace podgpu {

// The facts about podgpu's own configuration that pages and metrics show; made at the start and at
// each reload.
struct ConfigNotes {
  std::string counters;               // Path of the list of metrics.
  size_t metrics = 0;                 // Number of metrics on that list.
  std::vector<std::string> warnings;  // One line per entry that has no effect, with the reason.
  uint64_t reloads = 0;               // Successful ones.
  uint64_t failed_reloads = 0;  // The new list was refused and the current list stayed in use.
  std::string refusal = {};     // Why the last reload failed; empty when it succeeded.
  WallTime loaded_at{};         // Time at which the current list was read.
};

struct TickFacts {
  uint64_t tick = 0;
  Instant now{};
  std::chrono::milliseconds stale_after{};

  std::shared_ptr<const Grid> grid;  // Null before the first reading; stale values are withdrawn.
  std::chrono::milliseconds grid_age{};  // Time since the reading began.
  GpuFreshness freshness;                // Freshness of the GPUs, from all readings up to this one.
  GpuSet excluded_gpus;                  // GPUs of which -d selects nothing.
  std::shared_ptr<const SourceStatus> source;  // Never null.
  std::optional<RunningCall> running;          // The vendor call that runs now.
  // A vendor call hung, and no reading has begun and ended since then.
  bool awaits_reading = false;
  PartState driver = PartState::kStarting;  // The state of the driver in the condition.
  std::array<std::optional<double>, kSourceCallCount> call_seconds;
  uint64_t interrupts = 0;
  size_t written_off = 0;  // Threads that podgpu abandoned because a foreign call hangs.

  std::shared_ptr<const PodFacts> pods;  // Never null.
  std::chrono::milliseconds pods_age{};  // Time since the last good answer.
  bool owners_are_known = false;         // The last good answer is not too old.
  // Limit for `pods_age` and for the age of `containers`; then owners are withdrawn.
  std::chrono::milliseconds owners_stay_for{};
  // Limit for the value of `api_pods` without the API server.
  std::chrono::milliseconds metadata_stays_for{};
  std::shared_ptr<const JobFacts> jobs;              // Null without a directory of jobs.
  std::shared_ptr<const ContainerFacts> containers;  // Null without a container runtime.
  std::shared_ptr<const ApiFacts> api_pods;    // Null unless labels or uids of pods are wanted.
  std::shared_ptr<const ApiFacts> api_slices;  // Null unless claims are wanted.
  // "namespace/name" of pods that were created after the kubelet's answer.
  std::vector<std::string> younger_pods;
  // The value of `api_pods`; null once the API server has been unreachable for too long.
  std::shared_ptr<const ApiObjects> usable_pods;
  std::shared_ptr<const ProcessFacts> processes;  // Null where processes are not read.
  std::shared_ptr<const Owners> owners;           // Null before the first reading.
  // Says which processes of pods have no pod name, and why; null while all of them have one.
  std::shared_ptr<const std::string> naming_note;

  const VisibleNamespaces* visible = nullptr;  // Namespaces that pages may show; null: all.
  HttpServerStats clients;
  bool too_many_clients = false;  // A client was refused in the last minute: too many connections.
  std::shared_ptr<const ConfigNotes> config;  // Never null.
  WriteTally text_files;
  std::optional<WriteTally> dumps;  // Nothing where dumps are off.

  ProcessUsage usage;
  std::optional<double> started_seconds;  // Start of podgpu, since 1970.
  double last_tick_seconds = 0;
  size_t last_series = 0;
  size_t unknown_pod_values = 0;  // Values of single pods that the page leaves out.
  uint64_t dropped_log_lines = 0;
  uint64_t left_out = 0;  // Series that the budget left out, summed over all pages.

  // Returns whether the device values are too old to show, or no reading has ever come.
  bool devices_are_stale() const { return grid == nullptr || grid_age > stale_after; }

  // Returns whether the runtime's containers are known and not too old to name on rows.
  bool containers_are_known() const {
    return containers != nullptr && containers->value != nullptr &&
           now - containers->good_at <= owners_stay_for;
  }

  // Returns whether the running call is past its deadline, or is the reason why no GPU has a value
  // that is recent enough.  The second case covers deadlines longer than `stale_after`.
  bool call_hangs() const {
    return running && (running->past_deadline || (running->elapsed * 2 >= stale_after &&
                                                  grid != nullptr && no_gpu_gives_values()));
  }

  // Returns whether all GPUs are without a value, because the reading or each of its samples is too
  // old.  The samples may be too old a moment before the reading.  `grid` is not null.
  bool no_gpu_gives_values() const {
    size_t unresponsive = 0, lost = 0;
    for (size_t i = 0; i < grid->topology().gpus.size(); ++i) {
      const DeviceState state = StateOf(i);
      unresponsive += state == DeviceState::kUnresponsive ? 1U : 0U;
      lost += state == DeviceState::kLost ? 1U : 0U;
    }
    return devices_are_stale() ||
           (unresponsive > 0 && unresponsive + lost == grid->topology().gpus.size());
  }

  // Returns the state of GPU `index` of the grid's topology.
  DeviceState StateOf(size_t index) const {
    return JudgeState(grid->topology(), index, freshness, devices_are_stale());
  }
};

}  // namespace podgpu
