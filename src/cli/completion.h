// Shell completion of the command line, generated from the flag tables.
//
// `podgpu completion bash` prints a script for the shell. No part of it is written by hand, so
// every new flag is completed. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Returns the script for "bash", "zsh" or "fish"; for any other shell kInvalidArgument with the
// complete line to print.
StatusOr<std::string> CompletionScript(std::string_view shell);

}  // namespace podgpu
