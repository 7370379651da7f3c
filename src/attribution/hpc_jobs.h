// Jobs of a batch system: a directory with one file per device that lists its jobs.
//
// The prolog of the batch system writes the files. A file is named after the GPU's id ("0") or GPU
// and MIG instance ("0.7"), and has one job id per line. Other files are ignored. The batch system
// may replace and remove files at any time, so a file that cannot be read is left out of this
// result and added to `complaints`. Called on the job refresher's thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "topology/topology.h"

namespace podgpu {

struct HpcJobs {
  std::map<std::string, std::vector<std::string>>
      by_device;                        // Keys are "0" or "0.7"; lists are never empty.
  std::vector<std::string> complaints;  // One sentence per file, path first.

  size_t job_count() const {
    size_t count = 0;
    for (const auto& [device, jobs] : by_device) {
      count += jobs.size();
    }
    return count;
  }
  bool operator==(const HpcJobs&) const = default;
};

// Each job of a device is a label value on every metric, so jobs are limited: longer lines are not
// job ids, and a device has no more jobs than this.
inline constexpr size_t kLongestJobBytes = 256;
inline constexpr size_t kMostJobsPerDevice = 256;

// The job ids of one file, in file order, each once; empty lines are ignored.
struct JobList {
  std::vector<std::string> jobs;
  size_t too_long = 0;  // Ignored lines that are too long.
  size_t too_many = 0;  // Ignored jobs above the limit per device.
};
JobList ParseJobList(std::string_view content);

// Reads all job files. Fails (kNotFound and so on) only when the directory itself cannot be listed.
StatusOr<HpcJobs> ReadHpcJobs(const Files& files, std::string_view directory);

// Returns the jobs of each entity: those of "0.7" for an instance, those of "0" for a GPU.
std::vector<std::vector<std::string>> JobsByEntity(const Topology& topology, const HpcJobs& jobs);

}  // namespace podgpu
