// The driver's accounting of one GPU: whether it writes down the life of each process, and who
// lived too shortly for the lists.
//
// The mode is off after each load of the driver, and switching it on needs root; so it is looked at
// in each reading and switched on again where that is wanted.  A refusal is kept, and tried again
// now and then.  While it is on, the pids that the driver has written down since the last reading
// and that were on no list are asked for; the rest of its memory is history.  It is a ring of some
// thousand, one entry a pid: a pid that comes again while it is still in there is not noticed.  In
// MIG mode accounting is off and stays so.  One thread at a time.
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
  // `enable`: switches it on where it is off.
  explicit NvmlAccounting(bool enable = false) : enable_(enable) {}

  // Looks, and switches on.  The code that made further calls pointless, or success.
  abi::nvmlReturn_t ReadMode(const abi::NvmlTable& api, abi::nvmlDevice_t device, Instant now);
  // Then who has ended.  `listed`: who is on a list now; has_list: that was told.
  abi::nvmlReturn_t ReadEnded(const abi::NvmlTable& api, abi::nvmlDevice_t device, WallTime now,
                              std::span<const ListedProcess> listed, bool has_list);

  Accounting mode() const { return mode_; }
  // Of the last reading.
  const std::vector<EndedProcess>& ended() const { return ended_; }
  // Why it could not be switched on; nothing where it was not refused.
  std::optional<abi::nvmlReturn_t> refusal() const { return refusal_; }

 private:
  void SwitchOn(const abi::NvmlTable& api, abi::nvmlDevice_t device, Instant now);
  // Asks about one that is on no list, and adds it to ended_ if it has ended; with that, or with
  // a pid that the driver has forgotten, the matter is settled.
  abi::nvmlReturn_t Ask(const abi::NvmlTable& api, abi::nvmlDevice_t device, uint32_t pid,
                        WallTime now, bool& is_settled);

  bool enable_ = false;
  Accounting mode_ = Accounting::kNotRead;
  std::optional<abi::nvmlReturn_t> refusal_;
  Instant refused_at_{};
  bool has_history_ = false;       // The driver's memory was looked through since it was off.
  std::vector<uint32_t> settled_;  // Pids that are history, told, or on a list; ascending.
  std::vector<uint32_t> next_;     // For making the next `settled_`.
  NvmlList<uint32_t> pids_;
  std::vector<EndedProcess> ended_;
};

}  // namespace podgpu
