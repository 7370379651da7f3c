// The page `/` as text, for `curl` and for a terminal: at most 100 columns wide, with the numbers
// under each other.
//
// It says what the HTML form says, in the same words and in this order: the verdict, faults, GPUs
// with their owners and instances, processes, values that are not shown, parts, podgpu's own cost,
// other paths.  A name that is too long for its column begins a line of its own; nothing is cut.
// Pure functions; HTTP thread.
#pragma once

#include <string>

#include "ui/status_page.h"

namespace podgpu {

std::string StatusText(const StatusPageFacts& facts);

}  // namespace podgpu
