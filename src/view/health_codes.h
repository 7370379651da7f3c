// What a health watch has against a GPU, in the words that dcgm-exporter puts into its
// `health_error_code` label.
//
// Dashboards match these words.  Codes outside the table are "DCGM_FR_UNKNOWN(<n>)".  Pure data;
// any thread.
#pragma once

#include <cstdint>
#include <string>

namespace podgpu {

std::string HealthCodeName(uint32_t code);

}  // namespace podgpu
