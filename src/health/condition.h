// Judges the state of each part from the facts of a tick, and whether the exporter is ready.
//
// Ready means data: every GPU that is neither lost nor excluded by the selection has a fresh value
// (readiness.h), or the driver answers and there is no GPU to read.  Liveness does not depend on
// any of this (routes.cc).  A condition consists of sentences, which cost allocations.  So a new
// one is made only when its basis has changed; to make and compare a basis allocates nothing.  Pure
// functions; called on the tick thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "facts/tick_facts.h"
#include "ui/condition.h"

namespace podgpu {

// Everything that a condition depends on.  Ages are in tenths of a second and only set when
// something is wrong, so the basis of a steady node stays equal for hours.
struct ConditionBasis {
  using Tenths = std::chrono::duration<int64_t, std::deci>;

  std::shared_ptr<const SourceStatus> source;        // Never null.
  std::shared_ptr<const PodFacts> pods;              // Never null.
  std::shared_ptr<const Topology> topology;          // Null before the first reading.
  std::shared_ptr<const Owners> owners;              // Null before the first reading.
  std::shared_ptr<const JobFacts> jobs;              // Null without a directory of jobs.
  std::shared_ptr<const ContainerFacts> containers;  // Null without a container runtime.
  std::shared_ptr<const ProcessFacts> processes;     // Null if processes are not read.
  std::shared_ptr<const std::string> naming_note;    // Null while all processes in pods have names.
  std::shared_ptr<const ApiFacts> api_pods;    // Null unless labels or uids of pods are requested.
  std::shared_ptr<const ApiFacts> api_slices;  // Null unless claims are requested.
  bool devices_are_stale = false;
  GpuFreshness freshness;  // Freshness of the GPUs, from all readings up to the newest.
  GpuSet excluded_gpus;    // -d selects nothing of these.
  std::optional<SourceCall> hung_call;  // TickFacts::call_hangs
  bool awaits_reading = false;          // A call was hung, and no later reading has ended.
  Tenths hung_for{};
  Tenths stale_for{};       // Age of the newest reading, when it is stale.
  HttpServerStats clients;  // Connections and requests are 0: they change all the time.
  bool too_many_clients = false;
  std::shared_ptr<const ConfigNotes> config;  // Never null.
  FindingsAsked asked;                        // Facts that the newest reading had to find out.
  bool health_is_told = false;                // True if the reading tells it of any GPU.
  bool peers_are_told = false;                // True if the reading tells it of any pair of GPUs.
  std::shared_ptr<const FindingsNote> note;   // Note of that reading; so is events_note.
  std::shared_ptr<const FindingsNote> events_note;
  std::shared_ptr<const std::string> text_file_failure;  // Null while the files can be written.
  std::shared_ptr<const std::string> dump_failure;       // Null while dumps can be written.
  bool owners_are_known = false;  // The kubelet's last answer is not too old.
  Tenths owners_for{};            // Age of the last answer, while the kubelet gives no new one.
  bool metadata_is_withdrawn = false;     // The last answer with pods' labels and uids is too old.
  bool containers_are_withdrawn = false;  // The last list of the container runtime is too old.
  std::chrono::milliseconds stale_after{};
  std::chrono::milliseconds owners_stay_for{};
  std::chrono::milliseconds metadata_stays_for{};
  const VisibleNamespaces* visible = nullptr;  // Null: all.  Does not change.

  // Returns whether the kubelet told the owners, but too long ago.
  bool OwnersAreWithdrawn() const { return pods->value != nullptr && !owners_are_known; }

  // Returns whether both give the same condition.
  bool operator==(const ConditionBasis& other) const;
};

ConditionBasis BasisOf(const TickFacts& facts);

Condition Judge(const ConditionBasis& basis);

}  // namespace podgpu
