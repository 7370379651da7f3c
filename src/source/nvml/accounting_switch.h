// Switches the driver's accounting on, once, for every GPU that can have it: what an init container
// does, being root, for a podgpu that is not.
//
// The mode holds until the driver is unloaded.  A GPU in MIG mode, or a board without accounting,
// cannot have it, which is no failure; a refusal is, and says what to do about it.  A call that
// does not return within `patience` ends it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/library.h"
#include "base/status.h"

namespace podgpu {

struct AccountingSwitched {
  std::vector<std::string> lines;  // One per GPU, in NVML's order, without a line's end.
  bool has_failed = false;         // Of one at least.
};

// The Status of what keeps it from looking at GPUs at all; then what was done is not known.
StatusOr<AccountingSwitched> SwitchAccountingOn(abi::NvmlLibrary library, Clock& clock,
                                                const ThreadTally& written_off,
                                                std::chrono::seconds patience);
// The same with the library at `path`, or the one that is found where that is empty.
StatusOr<AccountingSwitched> SwitchAccountingOn(LibraryLoader& loader, const std::string& path,
                                                Clock& clock, const ThreadTally& written_off);

}  // namespace podgpu
