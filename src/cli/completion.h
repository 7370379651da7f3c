// Shell completion of the command line, generated from the flag tables.
//
// `podgpu completion bash` prints a script for the shell. No part of it is written by hand, so
// every new flag is completed. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace podgpu {

// The commands of podgpu, each with one phrase that says what it does.
std::span<const std::pair<std::string_view, std::string_view>> CommandWords();

// Returns the script for "bash", "zsh" or "fish"; for any other shell kInvalidArgument with the
// complete line to print.
StatusOr<std::string> CompletionScript(std::string_view shell);

}  // namespace podgpu
