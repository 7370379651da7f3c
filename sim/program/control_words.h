// A fault as it is written on podgpu-sim's command line: KIND and words of the form key=value.
//
// `gpu_lost gpu=0 for=20s` becomes "kind: gpu_lost, gpu: 0, for: 20s", an entry of the control log.
// Kinds and keys are checked here against the table, and complaints name the nearest one; the
// compiler checks the values.  Pure function; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "sim/world/fault.h"

namespace podgpu::sim {

struct FaultWords {
  std::string entry;         // Without its time.
  std::optional<TimeUs> at;  // From at=T.
};

StatusOr<FaultWords> ReadFaultWords(std::span<const std::string> words);

// The complaint about an unknown kind; it names the nearest kind.
std::string NoFaultKind(std::string_view name);

// The kind called `name`, or an error that names the nearest kind.
StatusOr<FaultKind> ReadFaultKind(std::string_view command, std::string_view name);

}  // namespace podgpu::sim
