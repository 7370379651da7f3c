// Whether the exporter is ready, and why: the verdict on all GPUs together.
//
// Ready means that every GPU that is neither lost nor excluded by -d has a fresh value.  One that
// sleeps, or of which nothing is asked that it has, needs none.  A node on which all GPUs are lost
// serves nothing and is not ready; one on which the driver answers and lists no GPU is, unless some
// were expected.  Pure functions of a basis; the tick thread calls them.
#pragma once

#include <string>

#include "health/condition.h"

namespace podgpu {

struct Readiness {
  bool is_ready = false;
  std::string verdict;  // "ready: 8 GPUs have fresh samples", or what is missing.
};

// `driver`: what is said of that part.
Readiness JudgeReadiness(const ConditionBasis& basis, const std::string& driver);

// Half a sentence; empty while a GPU has a value, needs none, or may have one at the next reading.
std::string WhyNothingIsServed(const ConditionBasis& basis);

// Why GPU `index` of the basis has no fresh value.
std::string WhySilent(const ConditionBasis& basis, size_t index);

}  // namespace podgpu
