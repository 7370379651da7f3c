// Remembers since when a name of the API server means another pod than before.
//
// A controller may give a new pod the name of one that has ended; what the kubelet said before that
// is about the old one.  Names are compared, not times: the clocks of server and node differ.  A
// name whose first pod we meet is not renewed.  Pure but for its memory, which forgets names that
// are gone for ten minutes.  One thread, that of the refresher of pods.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/api_object.h"

namespace podgpu {

using RenewedAt = std::map<std::string, Instant>;  // By "namespace/name".

class RenewedPods {
 public:
  static constexpr std::chrono::minutes kForgetsAfter{10};

  // Takes what the server lists now.
  void Take(const ApiObjects& pods, Instant now);

  const RenewedAt& at() const { return at_; }

 private:
  struct Known {
    std::string uid;
    Instant seen;
  };

  std::map<std::string, Known> known_;
  RenewedAt at_;
};

// The names, ascending, that mean another pod since `asked_at` or later.
std::vector<std::string> RenewedSince(const RenewedAt& renewed, Instant asked_at);

}  // namespace podgpu
