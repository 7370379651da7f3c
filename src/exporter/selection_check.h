// Asks the driver, without serving anything, whether -d names what this node has: for --validate.
//
// The question runs on a thread of its own and is given up after a while, since a driver may hang;
// the thread then counts as written off, and the process must end by std::_Exit.  For main alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "exporter/reader.h"
#include "topology/selection.h"

namespace podgpu {

struct SelectionCheck {
  std::vector<std::string> warnings;  // As SelectionWarnings.
  std::string unknown;                // Why that is not known; empty when it is.
};

// Asks nothing where -d lists no ids.  What `open` uses lives as long as the process.
SelectionCheck CheckSelection(const DeviceSelections& selections, const SourceOpener& open,
                              std::chrono::milliseconds patience, Clock& clock,
                              const ThreadTally& written_off);

}  // namespace podgpu
