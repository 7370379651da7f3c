// DCGM's own energy of processes: what their whole GPU drew while they lived.
//
// Only where a board asks for it (process/dcgm_energy_board.h).  The watch is set once for each
// connection and set of GPUs; the engine then keeps the samples of a day, half a minute apart, so
// that the figure is that of the whole life of a process, up to half a minute at either end.
// Setting it switches the driver's accounting on, for which the engine needs root.  A question
// costs up to 90 ms over TCP, so that only so many are asked in a reading, the others in the next
// ones.  Source thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/status.h"
#include "process/dcgm_energy_board.h"
#include "topology/topology.h"

namespace podgpu {

class DcgmPidEnergy {
 public:
  // Borrows `library` and `clock`, which outlive this.  A null board asks for nothing.
  DcgmPidEnergy(const abi::DcgmLibrary& library, const Clock& clock,
                std::shared_ptr<DcgmEnergyBoard> board)
      : library_(library), clock_(clock), board_(std::move(board)) {}

  // Asks about some of those that are asked for.  What the engine does not tell is absent, and
  // failure() says why; a lost connection is the Status.
  Status Read(abi::dcgmHandle_t handle, const Topology& topology);

  // For when the connection is gone, and the group with it.
  void Forget();

  // Empty: all is told.
  const std::string& failure() const { return failure_; }

 private:
  Status Ask(abi::dcgmHandle_t handle, const Topology& topology,
             const std::vector<uint32_t>& asked);
  Status AskOne(abi::dcgmHandle_t handle, const Topology& topology, uint32_t pid);
  Status Watch(abi::dcgmHandle_t handle, const Topology& topology);
  Status MakeGroup(abi::dcgmHandle_t handle);
  Status Noticed(const Status& status);
  void Tell(const std::vector<uint32_t>& asked);

  const abi::DcgmLibrary& library_;
  const Clock& clock_;
  const std::shared_ptr<DcgmEnergyBoard> board_;
  std::optional<abi::dcgmGpuGrp_t> group_;
  std::vector<uint32_t> watched_;  // Ids of the GPUs in the group.
  std::vector<uint32_t> wanted_;
  std::unique_ptr<abi::dcgmPidInfo_v2> info_;  // 17 KB, where it is needed.
  size_t next_ = 0;                            // Of those asked for.
  std::vector<DcgmEnergy> told_;
  std::string failure_;
  bool is_warned_ = false;
};

}  // namespace podgpu
