// Completion of the command line in shells, generated from the table of flags.
//
// `podgpu completion bash` prints a script for the shell to read; nothing of it is written by hand,
// so that a new flag is completed from its first day.  Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// The script for "bash", "zsh" or "fish"; kInvalidArgument, with the complete line to print, for
// any other shell.
StatusOr<std::string> CompletionScript(std::string_view shell);

}  // namespace podgpu
