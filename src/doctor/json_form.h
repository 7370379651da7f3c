// The result of the doctor as JSON for programs (docs/doctor.schema.json).
//
// Keys, ids of checks and names of features are stable; texts are not.  Pure function.
#pragma once

#include <string>

#include "doctor/finding.h"

namespace podgpu {

// The number under "schema"; it grows when an old reader would misunderstand a new result.
inline constexpr int kDoctorSchema = 1;

std::string AsJson(const DoctorResult& result);

}  // namespace podgpu
