// The names of health error codes, as dcgm-exporter writes them into its `health_error_code` label.
//
// Dashboards match these names.  Codes outside the table are "DCGM_FR_UNKNOWN(<n>)".  Pure data;
// any thread.
#pragma once

#include <cstdint>
#include <string>

namespace podgpu {

std::string HealthCodeName(uint32_t code);

}  // namespace podgpu
