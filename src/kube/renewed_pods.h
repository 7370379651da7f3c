// Remembers when each pod was seen first under its name.
//
// A controller may give a new pod the name of an ended one; an earlier answer of the kubelet is
// then about the old pod. Uids are compared, not times, because the clocks of server and node
// differ. The first pod seen under a name counts too: the kubelet may have answered about one
// before it. Names that are gone are forgotten after ten minutes. One thread, that of the pod
// refresher.
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

  // Takes the server's current list.
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

// Returns the names, ascending, whose pod was seen first after `asked_at`.
std::vector<std::string> RenewedSince(const RenewedAt& renewed, Instant asked_at);

}  // namespace podgpu
