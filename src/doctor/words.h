// Words that several checks use: lists of GPUs, and the finding for a failure.
//
// The messages of the other rooms end with a remedy, which the doctor prints on a line of its own.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/fact_and_remedy.h"
#include "base/status.h"
#include "doctor/finding.h"

namespace podgpu {

// Returns for example "GPU 3", "GPUs 3 and 5" or "GPUs 0, 3 and 5".
std::string GpuList(const std::vector<uint32_t>& gpus);

// Returns for example "on all 8" or "on 6 of 8".
std::string OnSome(size_t count, size_t all);

// A finding for `status`, which cost the features `lose`.
Finding Failed(Severity severity, const Status& status, std::vector<std::string> lose,
               std::string_view otherwise);

}  // namespace podgpu
