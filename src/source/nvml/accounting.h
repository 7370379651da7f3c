// The driver's process accounting of one GPU: whether it is on, and which processes ended between
// two readings without appearing on a process list.
//
// The mode is off after each load of the driver, and switching it on needs root.  So every reading
// checks the mode and, if the options ask for it, switches it on again.  A refusal is kept and
// retried once a minute.  While accounting is on, each reading asks for the pids that the driver
// has recorded since the last reading and that were on no list; older records are history.  The
// driver keeps a ring of some thousand records, one per pid; a pid that is reused while its old
// record is still in the ring goes unnoticed.  In MIG mode accounting is always off.  Used on one
// thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "process/process_reading.h"
#include "source/nvml/call.h"

namespace podgpu {

class NvmlAccounting {
 public:
  // `enable`: switch accounting on when it is off.
  explicit NvmlAccounting(bool enable = false) : enable_(enable) {}

  // Reads the mode, and switches accounting on if asked.  Returns the code that makes further calls
  // useless (a lost GPU, an unloaded driver), or success.
  abi::nvmlReturn_t ReadMode(const abi::NvmlTable& api, abi::nvmlDevice_t device, Instant now);
  // Called after ReadMode: reads which processes have ended.  `listed`: the processes on a list
  // now; has_list: that list is valid.
  abi::nvmlReturn_t ReadEnded(const abi::NvmlTable& api, abi::nvmlDevice_t device, WallTime now,
                              std::span<const ListedProcess> listed, bool has_list);

  Accounting mode() const { return mode_; }
  // Ended processes of the last reading.
  const std::vector<EndedProcess>& ended() const { return ended_; }
  // Why accounting could not be switched on; nothing when it was not refused.
  std::optional<abi::nvmlReturn_t> refusal() const { return refusal_; }

 private:
  void SwitchOn(const abi::NvmlTable& api, abi::nvmlDevice_t device, Instant now);
  // Asks about a pid that is on no list, and adds it to ended_ if it has ended.  Sets is_settled
  // when there is no more to ask: it has ended, or the driver no longer knows the pid.
  abi::nvmlReturn_t Ask(const abi::NvmlTable& api, abi::nvmlDevice_t device, uint32_t pid,
                        WallTime now, bool& is_settled);

  bool enable_ = false;
  Accounting mode_ = Accounting::kNotRead;
  std::optional<abi::nvmlReturn_t> refusal_;
  Instant refused_at_{};
  bool has_history_ = false;       // The old records have been skipped.
  std::vector<uint32_t> settled_;  // Pids to skip: history, reported or listed; ascending.
  std::vector<uint32_t> next_;     // The next `settled_`, while it is made.
  NvmlList<uint32_t> pids_;
  std::vector<EndedProcess> ended_;
};

}  // namespace podgpu
