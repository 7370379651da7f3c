// Commands whose settings also come from dcgm-exporter's YAML configuration (--config-file).
//
// The precedence is that of dcgm-exporter: flag, variable, configuration, default.  A value of the
// configuration is read like the variable of its flag, so it has the same limits; a mistake names
// the line in the file.  Main thread; reads the file.
#pragma once

#include <span>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "cli/doctor_flags.h"
#include "cli/flags.h"

namespace podgpu {

// Read flags and variables as ParseFlags and ParseDoctorFlags do, and then the configuration that
// they name.  On failure kInvalidArgument with the complete line to print; the exit code is then 2.
StatusOr<NodeCommand> ReadNodeCommand(std::span<const std::string> arguments,
                                      const Environment& environment, const Files& files,
                                      CalledAs called_as = CalledAs::kPodgpu);
StatusOr<DoctorCommand> ReadDoctorCommand(std::span<const std::string> arguments,
                                          const Environment& environment, const Files& files);

}  // namespace podgpu
