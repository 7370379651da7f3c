// Decides whether the exporter is ready, and says why: one verdict for all GPUs together.
//
// Ready means that every GPU that is neither lost nor excluded by -d has a fresh value, and so have
// its MIG instances.  A GPU needs no value while it sleeps, or when it has none of the requested
// fields.  A node on which all GPUs are lost serves nothing and is not ready.  A node without GPUs
// is ready: the driver answers and lists none, and none is expected, or the machine has neither a
// GPU nor a driver.  Pure functions of a basis; called on the tick thread.
#pragma once

#include <cstdint>
#include <string>

#include "health/condition.h"

namespace podgpu {

struct Readiness {
  bool is_ready = false;
  std::string verdict;    // "ready: 8 GPUs have fresh samples", or what is missing.
  bool may_pass = false;  // Not ready, and the next reading may bring what is missing.
  bool reads = false;     // The driver answers with fresh readings, or none is needed.
};

// Why no GPU is served.
enum class Silence : uint8_t {
  kNone,      // A GPU has a value, needs none, or may have one at the next reading.
  kReleased,  // The driver has lost or released all GPUs.
  kPaused,    // The source has paused the sampling of all.
  kStopped,   // The source answers, but the samples of all are old.
  kOther,
};

// `driver`: the detail of the part "driver".
Readiness JudgeReadiness(const ConditionBasis& basis, const std::string& driver);

Silence SilenceOf(const ConditionBasis& basis);

// Returns half a sentence; empty for Silence::kNone.
std::string WhyNothingIsServed(const ConditionBasis& basis);

// Says why GPU `index` of the basis has no fresh value.
std::string WhySilent(const ConditionBasis& basis, size_t index);

}  // namespace podgpu
