// What the faults of a node require of its servers: engine process, kubelet and API server.
//
// A pure function of the world and the time, so `podgpu-sim run` applies the same faults at the
// same moment as the libraries do.  A fault that begins and ends between two calls is not lost:
// starts and kills are counted.  Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kube/api_behaviour.h"
#include "sim/kube/kubelet_behaviour.h"
#include "sim/world/world.h"

namespace podgpu::sim {

struct EngineOrders {
  uint64_t kills = 0;       // Number of faults that have killed it so far.
  bool is_away = false;     // It is dead and must not be started yet.
  bool is_stopped = false;  // It hangs: alive, but answers nothing.
  bool operator==(const EngineOrders&) const = default;
};

EngineOrders EngineOrdersAt(const World& world, TimeUs t);
KubeletBehaviour KubeletBehaviourAt(const World& world, TimeUs t);
KubeletHttpsBehaviour KubeletHttpsBehaviourAt(const World& world, TimeUs t);
ApiBehaviour ApiBehaviourAt(const World& world, TimeUs t);
// The kinds of fault in force at the kubelet, its HTTPS port or the API server, or "well".
std::string KubeletWordsAt(const World& world, TimeUs t);
std::string KubeletHttpsWordsAt(const World& world, TimeUs t);
std::string ApiWordsAt(const World& world, TimeUs t);

// Whether such a fault begins or ends after t, so the caller must poll.
bool HasServerFaultsAfter(const World& world, TimeUs t);

}  // namespace podgpu::sim
