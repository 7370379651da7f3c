// Asks the driver whether this node has the devices that -d names, without serving pages: for
// --validate.
//
// The call runs on a thread of its own, since a driver may hang.  After `patience` the thread is
// abandoned and counted in `written_off`; the process must then end with std::_Exit.  Called by
// main alone.
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
  std::vector<std::string> warnings;  // The warnings of SelectionWarnings.
  std::string unknown;                // Why the devices are unknown; empty when they are known.
};

// Does not call the driver where -d lists no ids.  Everything that `open` uses lives as long as the
// process.
SelectionCheck CheckSelection(const DeviceSelections& selections, const SourceOpener& open,
                              std::chrono::milliseconds patience, Clock& clock,
                              const ThreadTally& written_off);

}  // namespace podgpu
