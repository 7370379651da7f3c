// Judges from the facts of a tick how each part is, and whether the exporter is ready.
//
// Ready means data: every GPU that is neither lost nor excluded by the selection has a fresh value
// (readiness.h), or the driver answers and there is no GPU to read.  Liveness is none of this
// (routes.cc).  A condition is made of sentences, so it is made only when the basis of the last one
// no longer holds; taking and comparing a basis allocates nothing.  Pure; the tick thread calls it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "facts/tick_facts.h"
#include "ui/condition.h"

namespace podgpu {

// All that a condition depends on.  Ages are told to a tenth of a second, and only where something
// is wrong: a steady node has one basis for hours.
struct ConditionBasis {
  using Tenths = std::chrono::duration<int64_t, std::deci>;

  std::shared_ptr<const SourceStatus> source;      // Never null.
  std::shared_ptr<const PodFacts> pods;            // Never null.
  std::shared_ptr<const Topology> topology;        // Null before the first reading.
  std::shared_ptr<const Owners> owners;            // Likewise.
  std::shared_ptr<const JobFacts> jobs;            // Null without a directory of jobs.
  std::shared_ptr<const ProcessFacts> processes;   // Null where processes are not read.
  std::shared_ptr<const std::string> naming_note;  // Null while all processes in pods have names.
  std::shared_ptr<const ApiFacts> api_pods;        // Null unless labels or uids of pods are wanted.
  std::shared_ptr<const ApiFacts> api_slices;      // Null unless claims are wanted.
  bool devices_are_stale = false;
  HeardGpus heard;                      // What the readings up to the newest say of GPUs.
  GpuSet excluded_gpus;                 // Of which -d selects nothing.
  std::optional<SourceCall> hung_call;  // TickFacts::call_hangs
  bool awaits_reading = false;          // One was, and no reading has begun and ended since.
  Tenths hung_for{};
  Tenths stale_for{};       // Age of the newest reading, when it is stale.
  HttpServerStats clients;  // But for connections and requests, which change all the time.
  bool clients_crowd = false;
  std::shared_ptr<const ConfigNotes> config;  // Never null.
  FindingsAsked asked;                        // What was to be found out by the newest reading.
  bool health_is_told = false;                // Of any GPU.
  bool peers_are_told = false;                // Likewise.
  std::shared_ptr<const FindingsNote> note;   // Of that reading; the next too.
  std::shared_ptr<const FindingsNote> events_note;
  std::shared_ptr<const std::string> text_file_failure;  // Null while files can be written.
  std::shared_ptr<const std::string> dump_failure;       // Likewise.
  bool owners_are_known = false;                         // The kubelet's last answer still counts.
  Tenths owners_for{};  // Age of the last answer, when the kubelet does not give a new one.
  std::chrono::milliseconds stale_after{};
  const VisibleNamespaces* visible = nullptr;  // Null: all.  Always the same.

  // Whether both lead to the same condition.
  bool operator==(const ConditionBasis& other) const;
};

ConditionBasis BasisOf(const TickFacts& facts);

Condition Judge(const ConditionBasis& basis);

}  // namespace podgpu
