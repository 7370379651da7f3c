// The names of health error codes, and of their categories and severities, as dcgm-exporter writes
// them into its labels `health_error_*`.
//
// Dashboards match these names.  Codes outside the table are "DCGM_FR_UNKNOWN(<n>)".  A verdict
// without an error has category and severity NONE; where DCGM does not tell them they are UNKNOWN.
// Pure data; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "sample/findings.h"

namespace podgpu {

std::string HealthCodeName(uint32_t code);
std::string HealthCategoryName(const HealthVerdict& verdict);
std::string HealthSeverityName(const HealthVerdict& verdict);

}  // namespace podgpu
