// `podgpu doctor`: runs the checks and prints the result.
//
// Called by main.cc alone.  A check that hangs leaves a thread behind, so the caller ends the
// process with std::_Exit after it has flushed its output.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/doctor_flags.h"
#include "doctor/finding.h"
#include "doctor/session.h"

namespace podgpu {

// Properties of the place to which the output goes.
struct DoctorOutput {
  size_t width = 100;
  bool is_terminal = false;
};

// Returns kInvalidArgument for a text in --only that no check has.
Status CheckOnly(const std::vector<std::string>& only);

// Leaves in `result` only the checks that `only` names; empty: all.
void KeepOnly(DoctorResult& result, const std::vector<std::string>& only);

// Returns whether status words have a colour.
bool UsesColour(ColourUse use, bool is_terminal, const Environment& environment);

// The text that the doctor prints, and the exit code.
struct DoctorAnswer {
  std::string text = {};
  int exit_code = 0;
};

// Runs the checks.  With --report also writes the file.  Returns kInvalidArgument for a usage
// error.
StatusOr<DoctorAnswer> RunDoctor(const DoctorCommand& command, const DoctorSeams& seams,
                                 const DoctorOutput& output);

}  // namespace podgpu
