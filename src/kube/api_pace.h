// The wait before the next call of ApiMirror::Follow.
//
// Zero after a watch that ended normally or whose version was too old. After a failure the wait
// doubles each time and has a random part, so that the instances of a cluster do not retry
// together. It is at least as long as the server asks for. One thread.
#pragma once

#include <random>

#include "base/clock.h"
#include "kube/api_mirror.h"

namespace podgpu {

class ApiPace {
 public:
  // `seed` is for the random part.
  explicit ApiPace(uint32_t seed) : random_(seed) {}

  // Returns the wait after `round`, which took `lasted`.
  Duration After(const ApiRound& round, Duration lasted);

 private:
  std::minstd_rand random_;
  Duration wait_{};            // The wait after the last failure.
  bool listed_again_ = false;  // The previous wait was zero, to list again at once.
};

}  // namespace podgpu
