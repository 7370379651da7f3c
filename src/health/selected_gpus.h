// Applies the device strings (-d, -s, -p) to the devices of this node: finds the GPUs that they
// exclude, and warns when -d names a GPU or instance that this node does not have.
//
// A missing device is a mistake in the configuration.  The log, `/` and podgpu_config_warnings show
// it, and the exporter stays ready.  Switches and CPUs are read only if a field of theirs is
// configured, so a missing one of -s or -p gives a log line but no warning.  Checked again when the
// devices change.  Used on the tick thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "facts/tick_facts.h"
#include "health/added_warnings.h"
#include "health/sample_state.h"
#include "topology/selection.h"
#include "topology/topology.h"

namespace podgpu {

// Returns a warning if -d names a device that `topology` does not have.  Pure.
std::vector<std::string> SelectionWarnings(const DeviceSelections& selections,
                                           const Topology& topology);

class SelectedGpus {
 public:
  explicit SelectedGpus(DeviceSelections selections) : selections_(std::move(selections)) {}

  // Logs a line when the set of missing devices changes.
  void Take(const Topology& topology);

  // The excluded GPUs, by index into the last topology.
  const GpuSet& excluded() const { return excluded_; }

  // Returns `notes` with the warnings of the selection; the same object again while neither
  // changes.
  std::shared_ptr<const ConfigNotes> AddTo(const std::shared_ptr<const ConfigNotes>& notes) {
    return warnings_.AddTo(notes);
  }

 private:
  const DeviceSelections selections_;
  std::optional<uint64_t> epoch_;  // Epoch of the last topology.
  GpuSet excluded_;
  std::vector<std::string> missing_;  // Logged.
  AddedWarnings warnings_;            // The missing devices of -d.
};

}  // namespace podgpu
