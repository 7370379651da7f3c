// Runs the checks in their order, each with a limit, and puts the result together.
//
// Each check runs on a thread of its own.  One that does not end in time is itself the finding, and
// its thread is abandoned: then the process must end with std::_Exit (base/foreign_calls.h).
// Called on the main thread.
#pragma once

#include <chrono>
#include <memory>

#include "doctor/checks.h"
#include "doctor/finding.h"
#include "doctor/session.h"

namespace podgpu {

struct DoctorLimits {
  std::chrono::milliseconds check{2'000};
  std::chrono::milliseconds all{9'500};  // Leaves time to print within 10 s.
};

DoctorResult RunChecks(const std::shared_ptr<Session>& session, const DoctorLimits& limits = {});

}  // namespace podgpu
