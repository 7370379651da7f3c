// Everything that one tick knows: the newest values of all threads, taken together once.
//
// The tick gathers these at its beginning; from then on its stages (join, plan, slots, condition)
// are functions of the same facts, so one page never mixes two moments.  Plain data; it knows no
// thread.
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

// The state and the warnings of the configuration; made at the start and at each reload.
struct ConfigNotes {
  std::string counters;               // Where the list of metrics is from: a path.
  size_t metrics = 0;                 // On it.
  std::vector<std::string> warnings;  // Entries without effect, and why.
  uint64_t reloads = 0;               // That were taken over.
  uint64_t failed_reloads = 0;        // That were refused, so that the list from before stayed.
  std::string refusal = {};           // Of the last one; empty when it was taken over.
  WallTime loaded_at{};               // When the list that is served was read.
};

struct TickFacts {
  uint64_t tick = 0;
  Instant now{};
  std::chrono::milliseconds stale_after{};

  std::shared_ptr<const Grid> grid;  // Null before the first reading; stale values are withdrawn.
  std::chrono::milliseconds grid_age{};        // Since the reading began.
  GpuFreshness freshness;                      // What the readings up to this one tell about GPUs.
  GpuSet excluded_gpus;                        // Of which -d selects nothing.
  std::shared_ptr<const SourceStatus> source;  // Never null.
  std::optional<RunningCall> running;          // The vendor call that runs now.
  // A call hung, and no reading has begun and ended since.
  bool awaits_reading = false;
  PartState driver = PartState::kStarting;  // As the condition says.
  std::array<std::optional<double>, kSourceCallCount> call_seconds;
  uint64_t interrupts = 0;
  size_t written_off = 0;  // Threads that hang in a foreign call and are waited for no longer.

  std::shared_ptr<const PodFacts> pods;        // Never null.
  std::chrono::milliseconds pods_age{};        // Since the last good answer.
  bool owners_are_known = false;               // That answer still counts.
  std::shared_ptr<const JobFacts> jobs;        // Null without a directory of jobs.
  std::shared_ptr<const ApiFacts> api_pods;    // Null unless labels or uids of pods are wanted.
  std::shared_ptr<const ApiFacts> api_slices;  // Null unless claims are wanted.
  std::vector<std::string> younger_pods;       // Than the kubelet's answer; "namespace/name".
  // Of the former, unless it was lost too long ago; null then.
  std::shared_ptr<const ApiObjects> usable_pods;
  std::shared_ptr<const ProcessFacts> processes;  // Null where processes are not read.
  std::shared_ptr<const Owners> owners;           // Null before the first reading.
  // Which processes have no pod's name, and why; null while all in pods have one.
  std::shared_ptr<const std::string> naming_note;

  const VisibleNamespaces* visible = nullptr;  // To people; null: all.
  HttpServerStats clients;
  bool too_many_clients = false;  // A client was refused in the last minute: too many connections.
  std::shared_ptr<const ConfigNotes> config;  // Never null.
  WriteTally text_files;
  std::optional<WriteTally> dumps;  // Nothing where none are wanted.

  ProcessUsage usage;
  std::optional<double> started_seconds;  // Since 1970.
  double last_tick_seconds = 0;
  size_t last_series = 0;
  size_t unknown_pod_values = 0;  // Numbers of single pods that the page leaves out.
  uint64_t left_out = 0;          // Series that the budget has kept off pages so far.

  // Whether the device values are too old to be shown, or have never been there.
  bool devices_are_stale() const { return grid == nullptr || grid_age > stale_after; }

  // Whether the call that runs now is past its deadline, or is why the values are too old.
  bool call_hangs() const {
    return running && (running->past_deadline || (grid != nullptr && devices_are_stale() &&
                                                  running->elapsed * 2 >= stale_after));
  }

  // Of GPU `index` of the grid's topology.
  DeviceState StateOf(size_t index) const {
    return JudgeState(grid->topology(), index, freshness, devices_are_stale());
  }
};

}  // namespace podgpu
