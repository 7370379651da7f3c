// Warnings about the configuration that depend on this node: the notes of the configuration with
// these added.
//
// `/`, podgpu_config_warnings and the log show them like those that are known at the start.  Used
// on the tick thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "facts/tick_facts.h"

namespace podgpu {

class AddedWarnings {
 public:
  // Logs each warning when they change.
  void Set(std::vector<std::string> warnings);

  // Returns `notes` with the warnings; the same object again while neither changes.
  std::shared_ptr<const ConfigNotes> AddTo(const std::shared_ptr<const ConfigNotes>& notes);

 private:
  std::vector<std::string> warnings_;
  std::shared_ptr<const ConfigNotes> notes_;     // The argument of the last AddTo.
  std::shared_ptr<const ConfigNotes> returned_;  // Result of AddTo; null: out of date.
};

}  // namespace podgpu
