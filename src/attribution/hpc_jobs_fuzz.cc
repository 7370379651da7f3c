// Feeds bytes to the job file reader. Invariants: every job is a part of the input, is neither
// empty nor above the limit, and is listed once; a job is left out only when a limit requires it.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "attribution/hpc_jobs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const podgpu::JobList list = podgpu::ParseJobList(content);
  const std::set<std::string> unique(list.jobs.begin(), list.jobs.end());
  PODGPU_CHECK(unique.size() == list.jobs.size());
  PODGPU_CHECK(list.jobs.size() <= podgpu::kMostJobsPerDevice);
  for (const std::string& job : list.jobs) {
    PODGPU_CHECK(!job.empty() && job.size() <= podgpu::kLongestJobBytes);
    PODGPU_CHECK(job.find('\n') == std::string::npos);
    PODGPU_CHECK(content.find(job) != std::string_view::npos);
  }
  const bool has_text = content.find_first_not_of(" \t\r\n") != std::string_view::npos;
  PODGPU_CHECK(!has_text || !list.jobs.empty() || list.too_long > 0);
  return 0;
}
