// What the faults of a node ask of its servers: the engine's process, the kubelet and the
// API server.
//
// A pure function of the world and the time, so that `podgpu-sim run` obeys the same faults as the
// libraries do, at the same moment.  What comes and goes between two looks is not lost: starts and
// kills are counted.  Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kube/api_behaviour.h"
#include "sim/kube/kubelet_behaviour.h"
#include "sim/world/world.h"

namespace podgpu::sim {

struct EngineOrders {
  uint64_t kills = 0;       // How many faults have killed it so far.
  bool is_away = false;     // It is dead, and not to be started yet.
  bool is_stopped = false;  // It hangs: alive, and answers nothing.
  bool operator==(const EngineOrders&) const = default;
};

EngineOrders EngineOrdersAt(const World& world, TimeUs t);
KubeletBehaviour KubeletBehaviourAt(const World& world, TimeUs t);
KubeletHttpsBehaviour KubeletHttpsBehaviourAt(const World& world, TimeUs t);
ApiBehaviour ApiBehaviourAt(const World& world, TimeUs t);
// The kinds of fault that the kubelet, its HTTPS port or the API server suffers from, or "well".
std::string KubeletWordsAt(const World& world, TimeUs t);
std::string KubeletHttpsWordsAt(const World& world, TimeUs t);
std::string ApiWordsAt(const World& world, TimeUs t);

// Whether such a fault begins or ends after t, so that somebody has to look again.
bool HasServerFaultsAfter(const World& world, TimeUs t);

}  // namespace podgpu::sim
