#include "health/readiness.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"

namespace podgpu {
namespace {

std::string InSeconds(std::chrono::duration<double> duration) {
  return absl::StrFormat("%.1f s", duration.count());
}

// Counts the GPUs of a node by what they mean for readiness.
struct GpuTally {
  size_t all = 0, excluded = 0, lost = 0, unresponsive = 0, never_sampled = 0;
  size_t awaited = 0;                        // Gave values before, and none at the newest reading.
  size_t degraded = 0;                       // Served, with a loss.
  size_t resting = 0;                        // No value, for a good reason.
  size_t misread = 0;                        // Served, but without its MIG instances.
  std::optional<size_t> first_unresponsive;  // Index of the GPU, as in the next line.
  std::optional<size_t> first_never_sampled, first_resting, first_awaited, first_misread;
  bool all_are_stale = true;  // The samples of all unresponsive GPUs are old.

  size_t served() const {
    return all - excluded - lost - unresponsive - never_sampled - awaited - resting;
  }
};

void Count(size_t index, size_t& count, std::optional<size_t>& first) {
  ++count;
  first = first.value_or(index);
}

// Returns whether the values of the GPU's MIG instances are withdrawn.
bool IsMisread(const Topology& topology, size_t gpu) {
  return std::ranges::any_of(topology.instances, [&](const GpuInstance& instance) {
    return instance.gpu == gpu && instance.is_misread;
  });
}

GpuTally Tally(const ConditionBasis& basis) {
  GpuTally tally;
  tally.all = basis.topology == nullptr ? 0 : basis.topology->gpus.size();
  for (size_t i = 0; i < tally.all; ++i) {
    const bool is_judged = i < kMaxJudgedGpus;
    if (is_judged && basis.excluded_gpus[i]) {
      ++tally.excluded;
    } else if (basis.topology->gpus[i].state == DeviceState::kLost) {
      ++tally.lost;
    } else if (is_judged && basis.freshness.unresponsive[i]) {
      Count(i, tally.unresponsive, tally.first_unresponsive);
      tally.all_are_stale = tally.all_are_stale && basis.freshness.reasons[i] == Absence::kStale;
    } else if (is_judged && basis.freshness.never_sampled[i]) {
      Count(i, tally.never_sampled, tally.first_never_sampled);
    } else if (is_judged && basis.freshness.awaited[i]) {
      Count(i, tally.awaited, tally.first_awaited);
    } else if (is_judged && basis.freshness.excused[i] &&
               basis.freshness.reasons[i] != Absence::kNotRead) {
      // With kNotRead no field of this GPU is read: it lacks nothing, so it counts as served.
      Count(i, tally.resting, tally.first_resting);
    } else if (IsMisread(*basis.topology, i)) {
      Count(i, tally.misread, tally.first_misread);
    } else if (JudgeState(*basis.topology, i, basis.freshness, basis.devices_are_stale) ==
               DeviceState::kDegraded) {
      ++tally.degraded;
    }
  }
  return tally;
}

// Returns for example ", 2 lost", for each count that is not 0.
std::string Rest(const ConditionBasis& basis, const GpuTally& tally) {
  const std::pair<size_t, std::string_view> rows[] = {{tally.lost, "lost"},
                                                      {tally.unresponsive, "unresponsive"},
                                                      {tally.awaited, "recovering"},
                                                      {tally.excluded, "not selected"},
                                                      {tally.misread, "without MIG instances"},
                                                      {tally.degraded, "degraded"}};
  std::string rest;
  for (const auto& [count, word] : rows) {
    if (count > 0) {
      absl::StrAppendFormat(&rest, ", %d %s", count, word);
    }
  }
  if (tally.first_resting) {
    absl::StrAppendFormat(&rest, ", %d without values (%s)", tally.resting,
                          AbsenceName(basis.freshness.reasons[*tally.first_resting]));
  }
  return rest;
}

// Returns for example "GPU 3 and 2 more".
std::string Named(const ConditionBasis& basis, size_t first, size_t count) {
  std::string named = absl::StrFormat("GPU %d", basis.topology->gpus[first].gpu_id);
  if (count > 1) {
    absl::StrAppendFormat(&named, " and %d more", count - 1);
  }
  return named;
}

// Returns for example "; expected GPUs: 8", if that number is known.
std::string Expectation(const ConditionBasis& basis) {
  const size_t expected = basis.source->expected_gpus;
  return expected == 0 ? "" : absl::StrFormat("; expected GPUs: %d", expected);
}

// Returns ". What helps: ...", if the source knows.
std::string WhatHelps(const ConditionBasis& basis) {
  const std::string& remedy = basis.source->remedy;
  return remedy.empty() ? "" : ". What helps: " + remedy;
}

// Returns the facts that a node lacks although it is ready.
std::string Reservations(const ConditionBasis& basis) {
  std::string lacks = basis.OwnersAreWithdrawn() ? "; owners are withdrawn" : "";
  if (basis.source->state == PartState::kDegraded && !basis.source->remedy.empty()) {
    lacks += "; the device source is degraded" + WhatHelps(basis);
  }
  return lacks;
}

bool ServesNothing(const GpuTally& tally) {
  return tally.lost + tally.unresponsive > 0 &&
         tally.served() + tally.awaited + tally.resting + tally.never_sampled == 0;
}

// Judges a node whose newest reading is fresh and lists a GPU. The verdict names one reason. An
// awaited GPU is the last of them, because the next reading may have its value; the log waits for
// that reading (`may_pass`).
Readiness JudgeGpus(const ConditionBasis& basis) {
  const GpuTally tally = Tally(basis);
  const std::string rest = Rest(basis, tally);
  if (tally.first_unresponsive && !ServesNothing(tally)) {
    return {false, absl::StrFormat("not ready: %s without a fresh value, since %s. %d of %d GPUs "
                                   "served%s",
                                   Named(basis, *tally.first_unresponsive, tally.unresponsive),
                                   WhySilent(basis, *tally.first_unresponsive), tally.served(),
                                   tally.all, rest)};
  }
  if (const std::string silence = WhyNothingIsServed(basis); !silence.empty()) {
    return {false, "not ready: " + silence + rest};
  }
  if (tally.first_never_sampled) {
    return {false, absl::StrFormat("not ready: waiting for the first value of %s",
                                   Named(basis, *tally.first_never_sampled, tally.never_sampled))};
  }
  if (tally.first_misread) {
    return {false,
            absl::StrFormat("not ready: the MIG instances of %s have no fresh value, since the "
                            "engine has given new numbers to instances, as it does when a GPU is "
                            "bound again; the engine must be restarted",
                            Named(basis, *tally.first_misread, tally.misread))};
  }
  if (tally.first_awaited) {
    return {.is_ready = false,
            .verdict = absl::StrFormat("not ready: %s gave no value at the newest reading, since "
                                       "%s. %d of %d GPUs served%s",
                                       Named(basis, *tally.first_awaited, tally.awaited),
                                       WhySilent(basis, *tally.first_awaited), tally.served(),
                                       tally.all, rest),
            .may_pass = true};
  }
  return {true, (rest.empty()
                     ? absl::StrFormat("ready: %s %s", Counted(tally.all, "GPU"),
                                       tally.all == 1 ? "has a fresh sample" : "have fresh samples")
                     : absl::StrFormat("ready: %d of %d GPUs served%s", tally.served(), tally.all,
                                       rest)) +
                    Reservations(basis)};
}

// Judges a node whose newest reading is fresh and lists no GPU.
Readiness JudgeNoGpus(const ConditionBasis& basis) {
  if (basis.source->expected_gpus > 0) {
    return {false, absl::StrFormat("not ready: the driver lists no GPU%s", Expectation(basis))};
  }
  return {true, "ready: the driver answers and this node has no GPU"};
}

}  // namespace

Readiness JudgeReadiness(const ConditionBasis& basis, const std::string& driver) {
  if (basis.source->needs_no_driver && !basis.hung_call) {
    return {.is_ready = true, .verdict = "ready: " + driver, .reads = true};
  }
  const bool lacks_driver = basis.topology == nullptr ||
                            (!basis.devices_are_stale && !basis.topology->driver_absence.empty());
  if (lacks_driver) {
    return {false, "not ready: " + driver + Expectation(basis) + WhatHelps(basis)};
  }
  if (basis.devices_are_stale) {
    return {false, absl::StrFormat("not ready: the newest sample is %s old and withdrawn",
                                   InSeconds(basis.stale_for))};
  }
  Readiness readiness = basis.topology->gpus.empty() ? JudgeNoGpus(basis) : JudgeGpus(basis);
  readiness.reads = true;
  return readiness;
}

Silence SilenceOf(const ConditionBasis& basis) {
  const GpuTally tally = Tally(basis);
  if (!ServesNothing(tally)) {
    return Silence::kNone;
  }
  if (!tally.first_unresponsive) {
    return Silence::kReleased;
  }
  if (basis.topology->is_paused) {
    return Silence::kPaused;
  }
  return tally.all_are_stale ? Silence::kStopped : Silence::kOther;
}

std::string WhyNothingIsServed(const ConditionBasis& basis) {
  const GpuTally tally = Tally(basis);
  switch (SilenceOf(basis)) {
    case Silence::kNone:
      return "";
    case Silence::kReleased:
      return absl::StrFormat("no GPU is served: the driver has lost or released %s",
                             tally.lost == 1 ? "it" : "them");
    case Silence::kPaused:
      return "no GPU gives a fresh value: telemetry is paused, as for a diagnosis (dcgmi diag)";
    case Silence::kStopped:
      return absl::StrFormat(
          "no GPU gives a fresh value: the samples of all stopped more than %s ago, though the "
          "source answers",
          InSeconds(basis.stale_after));
    case Silence::kOther:
      break;
  }
  return "no GPU gives a fresh value, since " + WhySilent(basis, *tally.first_unresponsive);
}

std::string WhySilent(const ConditionBasis& basis, size_t index) {
  const Absence reason =
      index < kMaxJudgedGpus ? basis.freshness.reasons[index] : Absence::kNotRead;
  if (reason == Absence::kStale) {
    return absl::StrFormat("its samples are older than %s", InSeconds(basis.stale_after));
  }
  return absl::StrFormat("its values are absent as \"%s\" (%s)", AbsenceName(reason),
                         AbsenceMeaning(reason));
}

}  // namespace podgpu
