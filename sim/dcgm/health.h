// The results of the engine's health watches: incidents, each with DCGM's number and a text.
//
// Computed at the moment of the call from the fields of a GPU then and a minute before, so a fault
// on a field also affects its verdict: a field without a number gives no incident.  As in the
// vendor's check, PCIe and temperature need a watch that has lasted for a minute, and each system
// and entity has one incident, the worst.  Only the systems that were set are checked.  Part of the
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

// The incidents of the GPUs among `members`, by GPU and system.
std::vector<Incident> FindIncidents(const Scene& scene, std::span<const EntityKey> members,
                                    const HealthWatch& watch);

// DCGM_ERROR_* (severity) and DCGM_FR_EC_* (category) of a code, as in the vendor's table.
struct ErrorKind {
  uint32_t code = 0;  // DCGM_FR
  int severity = 0;
  int category = 0;
};
// Returns the kind of a code that incidents have; of any other what the vendor's library returns
// for a code that it does not know.
ErrorKind KindOfError(uint32_t code);

}  // namespace podgpu::sim
