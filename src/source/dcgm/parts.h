// Which switches, NVLinks, CPUs and cores an engine has beside its GPUs.
//
// Looks only for the kinds that something is asked of: the first question about CPUs has an engine
// load a module, and links are a round trip each look.  CPUs that were named stay for the life of
// an engine; links come and go, and only those that are up count.  A kind whose question fails
// keeps its last answer and says why; the GPUs never suffer from it.  Source thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/status.h"
#include "fields/field.h"
#include "topology/topology.h"

namespace podgpu {

// A part as the engine names it.  3.x lays the id of a link out otherwise than 4.3 and later.
abi::dcgmGroupEntityPair_t EntityOf(const Part& part, const Topology& topology,
                                    abi::DcgmGeneration generation);

// The level by the vendor's number, as a library has it: the per-link profiling fields belong to
// links in 3.x and to GPUs later.  kConnectX for whatever is not known.
FieldLevel LevelOf(abi::dcgm_field_entity_group_t group);

class DcgmParts {
 public:
  // Borrows `library`, which outlives this.
  explicit DcgmParts(const abi::DcgmLibrary& library);

  // Fills `parts` and `parts_absence` of `topology`, whose GPUs are known.  A connection that is
  // gone is for the next call about GPUs to notice.
  void Fill(abi::dcgmHandle_t handle, PartKinds kinds, Topology& topology);

  // To be called when the engine may be another one.
  void ForgetEngine();

 private:
  // The parts of a reply, or why it is none.
  StatusOr<std::vector<Part>> ReadLinks(abi::dcgmHandle_t handle, const Topology& topology);
  StatusOr<std::vector<Part>> ReadCpus(abi::dcgmHandle_t handle);
  template <typename Reply>
  StatusOr<std::vector<Part>> AskLinks(abi::dcgmHandle_t handle, uint32_t version,
                                       const Topology& topology);

  const abi::DcgmLibrary& library_;
  std::vector<Part> links_;  // With the switches; as last told.
  std::vector<Part> cpus_;   // With the cores, once the engine has named some.
  bool had_links_ = false;   // Ever, by any engine.
  bool had_cpus_ = false;
};

}  // namespace podgpu
