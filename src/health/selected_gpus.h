// What the device strings (-d, -s, -p) come to on this node: the GPUs of which they show nothing,
// and a warning where -d names a GPU or instance that is not there.
//
// That is a matter of configuration: it is told in the log, on `/` and by podgpu_config_warnings,
// and does not end readiness.  Switches and CPUs are looked for only where a field of theirs is
// listed, so for -s and -p there is a line in the log and no warning.  Judged again when the
// devices have changed.  Tick thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "health/device_states.h"
#include "topology/selection.h"
#include "topology/topology.h"

namespace podgpu {

// A line for -d where it names what `topology` does not have.  Pure.
std::vector<std::string> SelectionWarnings(const DeviceSelections& selections,
                                           const Topology& topology);

class SelectedGpus {
 public:
  explicit SelectedGpus(DeviceSelections selections) : selections_(std::move(selections)) {}

  // Logs a line when another device than before is named in vain.
  void Take(const Topology& topology);

  // By index into the GPUs of the last topology.
  const GpuSet& excluded() const { return excluded_; }

  // `notes` with the warnings of the selection; the same object as before while neither changes.
  std::shared_ptr<const ConfigNotes> AddTo(const std::shared_ptr<const ConfigNotes>& notes);

 private:
  const DeviceSelections selections_;
  std::optional<uint64_t> epoch_;  // Of the last topology.
  GpuSet excluded_;
  std::vector<std::string> missing_;             // Logged.
  std::vector<std::string> warnings_;            // Of them, those of -d.
  std::shared_ptr<const ConfigNotes> notes_;     // What AddTo was given.
  std::shared_ptr<const ConfigNotes> returned_;  // What it returned; null when that is out of date.
};

}  // namespace podgpu
