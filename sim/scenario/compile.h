// Compiles the text of a scenario into a world image.
//
// The compiler validates a scenario (every error is reported with file:line:column, key path, what
// was found and what is allowed), solves contention, power cap, clocks and temperature once for
// every segment of every era, and writes the tables that World looks up.  The same text gives the
// same image on every machine; nothing of the environment enters.  Used by podgpu-sim and by
// in-process tests; not by the faces.  Pure function; any thread.
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

// Compiles the scenario in `text`; errors name `file`.
CompileResult CompileScenario(std::string_view text, std::string_view file);

// The same world with the control log added: `control` is a YAML list of entries in the form of the
// scenario's `faults:`, with absolute times, and may be empty; errors name `control_file`.  Each
// entry starts a new era at its time, so the world before the first entry equals that of the
// scenario alone, and integrals continue from their value at that time.
CompileResult CompileScenario(std::string_view text, std::string_view file,
                              std::string_view control, std::string_view control_file);

}  // namespace podgpu::sim
