// Remembers every GPU that was ever seen, so a GPU that is gone stays visible as lost.
//
// A GPU is identified by its UUID, because a restarted engine or library numbers GPUs from 0 again
// and may give an old number to another GPU. Used on the source thread only.
#pragma once

#include <map>
#include <string>

#include "topology/topology.h"

namespace podgpu {

class SeenGpus {
 public:
  // Returns the GPU with its last state; null when it was never seen.
  const Gpu* Find(const std::string& uuid) const;

  // Returns whether the GPU's last state was lost.
  bool WasLost(const std::string& uuid) const;

  // Adds the GPUs that `topology` lacks, as lost.  A GPU whose number is taken gets the next free
  // number.  For each GPU added, one GPU without a UUID is removed from `topology`: it may be the
  // same board, and its values could not be attributed.
  void AddLost(Topology& topology) const;

  // Remembers all GPUs of `topology` that have a UUID.
  void Note(const Topology& topology);

 private:
  std::map<std::string, Gpu> by_uuid_;
};

}  // namespace podgpu
