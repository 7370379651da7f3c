// From scenario text to world image.
//
// The compiler validates a scenario (it reports every error with file:line:column, the key's path,
// what it found and what is allowed), solves contention, power cap, clocks and temperature for
// every segment of every era once, and writes the tables that World looks up.  Same text, same
// image, on every machine: nothing of the environment enters.  Used by podgpu-sim and by in-process
// tests; not by the faces.  Pure function; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::sim {

struct CompileResult {
  std::vector<std::byte> image;     // Empty when there are errors.
  std::vector<std::string> errors;  // "demo.yaml:14:7: gpus[0].class: ..." one line each.
};

// Compiles the scenario in `text`; `file` is named in errors.
CompileResult CompileScenario(std::string_view text, std::string_view file);

// The same world with the control log added: `control` is a YAML list of entries in the form of the
// scenario's `faults:`, with absolute times, and may be empty; `control_file` is named in errors.
// Each entry cuts a new era at its time, so the world before the first of them is that of the
// scenario alone, and integrals continue from their value at the cut.
CompileResult CompileScenario(std::string_view text, std::string_view file,
                              std::string_view control, std::string_view control_file);

}  // namespace podgpu::sim
