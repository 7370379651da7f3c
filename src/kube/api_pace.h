// How long to leave the API server alone after a round of ApiMirror::Follow.
//
// Nothing after a watch that ended in good order or from a version that is too old; after a failure
// longer each time, and for a random part of it, so that the instances of a cluster do not come
// together; at least as long as the server itself asks for.  One thread.
#pragma once

#include <random>

#include "base/clock.h"
#include "kube/api_mirror.h"

namespace podgpu {

class ApiPace {
 public:
  // `seed`: of the random part.
  explicit ApiPace(uint32_t seed) : random_(seed) {}

  // The wait after `round`, which has lasted so long.
  Duration After(const ApiRound& round, Duration lasted);

 private:
  std::minstd_rand random_;
  Duration wait_{};            // The last one after a failure.
  bool listed_again_ = false;  // The round before was followed at once by a list.
};

}  // namespace podgpu
