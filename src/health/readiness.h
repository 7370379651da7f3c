// Decides whether the exporter is ready, and says why: one verdict for all GPUs together.
//
// Ready means that every GPU that is neither lost nor excluded by -d has a fresh value.  A GPU
// needs no value while it sleeps, or when it has none of the requested fields.  One reading without
// a value does not count against a GPU as long as another GPU has one.  A node on which all
// GPUs are lost serves nothing and is not ready.  A node is ready when the driver answers and lists
// no GPU, unless GPUs are expected.  Pure functions of a basis; called on the tick thread.
#pragma once

#include <string>

#include "health/condition.h"

namespace podgpu {

struct Readiness {
  bool is_ready = false;
  std::string verdict;  // "ready: 8 GPUs have fresh samples", or what is missing.
};

// `driver`: the detail of the part "driver".
Readiness JudgeReadiness(const ConditionBasis& basis, const std::string& driver);

// Whether no GPU has a value and the next reading may bring some: one reading without values passes
// by itself, so only what lasts is logged.
bool AwaitsTheNextReading(const ConditionBasis& basis);

// Returns half a sentence; empty while a GPU has a value, needs none, or may have one at the next
// reading.
std::string WhyNothingIsServed(const ConditionBasis& basis);

// Says why GPU `index` of the basis has no fresh value.
std::string WhySilent(const ConditionBasis& basis, size_t index);

}  // namespace podgpu
