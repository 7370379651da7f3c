// What the engine's health watches find: incidents, each with DCGM's number and a text.
//
// Judged at the moment of the question from what the fields of a GPU read then and a minute before,
// so that whatever spoils a field spoils its verdict: what has no number is no incident.  As in the
// vendor's check, PCIe and temperature need a watch that has lasted for a minute, and a system and
// entity have one incident, the worst.  Systems that nobody set are not looked at.  Part of the
// face: standard library only.  Pure functions of the scene.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/dcgm/session.h"

namespace podgpu::sim {

struct Incident {
  uint32_t system = 0;  // A bit of dcgmHealthSystems_t.
  int result = 0;       // DCGM_HEALTH_RESULT_WARN or _FAIL.
  uint32_t code = 0;    // DCGM_FR
  std::string message;
  EntityKey entity;
};

// Those of the GPUs among `members`, by GPU and system.
std::vector<Incident> FindIncidents(const Scene& scene, std::span<const EntityKey> members,
                                    const HealthWatch& watch);

}  // namespace podgpu::sim
