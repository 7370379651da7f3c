// Finds the switches, NVLinks, CPUs and cores that an engine has beside its GPUs.
//
// Searches only for the kinds that a requested field needs: the first question about CPUs makes an
// engine load a module, and links cost a round trip per Discover.  CPUs that were listed once stay
// until the engine changes; links come and go, and only links that are up count.  When the question
// for a kind fails, that kind keeps its last answer and the topology gives the reason; GPUs are not
// affected.  Used on the source thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/status.h"
#include "fields/field.h"
#include "topology/topology.h"

namespace podgpu {

// Returns a part as the engine identifies it.  3.x encodes the id of a link differently from 4.3
// and later.
abi::dcgmGroupEntityPair_t EntityOf(const Part& part, const Topology& topology,
                                    abi::DcgmGeneration generation);

// Converts the vendor's level.  The per-link profiling fields belong to links in 3.x and to GPUs
// later.  Returns kConnectX for every unknown level.
FieldLevel LevelOf(abi::dcgm_field_entity_group_t group);

class DcgmParts {
 public:
  // Borrows `library`, which outlives this.
  explicit DcgmParts(const abi::DcgmLibrary& library);

  // Fills `parts` and `parts_absence` of `topology`, whose GPUs are set.  A lost connection is not
  // reported here: the next call about GPUs finds it.
  void Fill(abi::dcgmHandle_t handle, PartKinds kinds, Topology& topology);

  // Must be called when the engine may be a different one.
  void ForgetEngine();

 private:
  // Return the parts of a reply, or why the reply is unusable.
  StatusOr<std::vector<Part>> ReadLinks(abi::dcgmHandle_t handle, const Topology& topology);
  StatusOr<std::vector<Part>> ReadCpus(abi::dcgmHandle_t handle);
  template <typename Reply>
  StatusOr<std::vector<Part>> AskLinks(abi::dcgmHandle_t handle, uint32_t version,
                                       const Topology& topology);

  const abi::DcgmLibrary& library_;
  std::vector<Part> links_;  // The last answer: links and switches.
  std::vector<Part> cpus_;   // CPUs and cores; empty until the engine lists some.
  bool had_links_ = false;   // True once any engine has listed links.
  bool had_cpus_ = false;
};

}  // namespace podgpu
