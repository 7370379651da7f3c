#include "attribution/owner_facts.h"

#include <vector>

namespace podgpu {

Owners MakeOwners(const Topology& topology, const OwnerFacts& facts, const JoinOptions& options) {
  static const std::vector<Allocation> none;
  Owners owners = Join(topology, facts.pods ? facts.pods->allocations : none, options);
  if (facts.jobs != nullptr) {
    owners.jobs_by_entity = JobsByEntity(topology, *facts.jobs);
  }
  return owners;
}

}  // namespace podgpu
