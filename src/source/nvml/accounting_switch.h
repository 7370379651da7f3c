// Switches process accounting on for every GPU that supports it.  An init container runs this as
// root for a podgpu that is not root.
//
// The mode stays on until the driver is unloaded.  A GPU in MIG mode, or a board without
// accounting, is no failure; a refusal is one, and its line names the remedy.  When a call does not
// return within `patience`, the whole function gives up.
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
  std::vector<std::string> lines;  // One per GPU, in NVML's order, without a newline.
  bool has_failed = false;         // At least one GPU has refused.
};

// Returns a failure when the GPUs cannot be listed or a call hangs; then the modes are unknown.
StatusOr<AccountingSwitched> SwitchAccountingOn(abi::NvmlLibrary library, Clock& clock,
                                                const ThreadTally& written_off,
                                                std::chrono::seconds patience);
// Does the same with the library at `path`; empty: searches for it.
StatusOr<AccountingSwitched> SwitchAccountingOn(LibraryLoader& loader, const std::string& path,
                                                Clock& clock, const ThreadTally& written_off);

}  // namespace podgpu
