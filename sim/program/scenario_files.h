// Finding what podgpu-sim works with: scenario files, shared objects, the run directory.
//
// A scenario is a path, or the bare name of a shipped one.  Shipped files lie beside the program:
// in the checkout above the build folder, or under share/ and lib/ of an installation.  The run
// directory is --dir, else build/run here; main.cc puts PODGPU_SIM_DIR in for a --dir that was not
// given.  Nothing is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/program/command_line.h"

namespace podgpu::sim {

struct ScenarioFile {
  std::string path;  // As named in errors.
  std::string text;
};

StatusOr<ScenarioFile> LoadScenario(const std::string& name);

// The simulated shared objects that were built with this program, by absolute path: NVML as the
// driver has it.
std::vector<std::string> SharedObjects(std::string_view driver_version);

// The run directory that `arguments` ask for, by absolute path.
std::string RunDirectoryPath(const Arguments& arguments);

// This program's own file.
std::string OwnPath();

}  // namespace podgpu::sim
