// Finds the files of podgpu-sim: scenarios, shared objects, the run directory.
//
// A scenario is a path, or the bare name of a shipped one.  Shipped files are near the program: in
// the checkout above the build folder, or under share/ and lib/ of an installation.  The run
// directory is --dir, else build/run in the current folder; when --dir is missing, main.cc uses
// PODGPU_SIM_DIR for it.  Stateless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/program/command_line.h"

namespace podgpu::sim {

struct ScenarioFile {
  std::string path;  // The name in errors.
  std::string text;
};

StatusOr<ScenarioFile> LoadScenario(const std::string& name);

// The simulated shared objects that were built with this program, by absolute path; NVML in the
// version of the driver.
std::vector<std::string> SharedObjects(std::string_view driver_version,
                                       std::string_view dcgm_version);

// The run directory that `arguments` give, by absolute path.
std::string RunDirectoryPath(const Arguments& arguments);

// The path of this program.
std::string OwnPath();

}  // namespace podgpu::sim
