// Every GPU that was ever seen, so that one which is gone stays visible as lost.
//
// A GPU is known by its UUID; a restarted engine or library counts from 0, so that its old number
// may be another one's now.  Source thread only.
#pragma once

#include <map>
#include <string>

#include "topology/topology.h"

namespace podgpu {

class SeenGpus {
 public:
  // The GPU with its last state, or null.
  const Gpu* Find(const std::string& uuid) const;

  // Whether the GPU was last seen lost.
  bool WasLost(const std::string& uuid) const;

  // Adds to `topology` those that it does not have, as lost; one whose number is taken gets the
  // next free.  They stand for as many GPUs of `topology` that do not say who they are, which are
  // taken out: whose values those would be, nothing tells.
  void AddLost(Topology& topology) const;

  // Remembers all that `topology` has.
  void Note(const Topology& topology);

 private:
  std::map<std::string, Gpu> by_uuid_;
};

}  // namespace podgpu
