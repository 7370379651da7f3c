// The jobs of a batch system: a directory with one file per device, which lists the jobs on it.
//
// A file is called by the GPU's id ("0"), or by that and the MIG instance's ("0.7"), and has one
// job id per line; the prolog of the batch system writes it.  Everything else in the directory is
// passed over.  The batch system may replace and remove files at any moment, so what cannot be read
// is left out for this time and said in `complaints`.  The caller is the job refresher, one thread.
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
  std::map<std::string, std::vector<std::string>> by_device;  // "0" or "0.7"; never an empty list.
  std::vector<std::string> complaints;                        // A sentence per file, path first.

  size_t job_count() const {
    size_t count = 0;
    for (const auto& [device, jobs] : by_device) {
      count += jobs.size();
    }
    return count;
  }
  bool operator==(const HpcJobs&) const = default;
};

// Each job of a device is a series of every metric, so there are bounds: whatever is longer is no
// job id, and more on one device is no list of jobs.
inline constexpr size_t kLongestJobBytes = 256;
inline constexpr size_t kMostJobsPerDevice = 256;

// The job ids of one file, in its order, each once; empty lines do not count.
struct JobList {
  std::vector<std::string> jobs;
  size_t too_long = 0;  // Lines left out because they are too long.
  size_t too_many = 0;  // Jobs left out beyond the most that a device can have.
};
JobList ParseJobList(std::string_view content);

// kNotFound and so on when the directory itself cannot be listed.
StatusOr<HpcJobs> ReadHpcJobs(const Files& files, std::string_view directory);

// The jobs of each entity: those of "0.7" for an instance, of "0" for a GPU.
std::vector<std::vector<std::string>> JobsByEntity(const Topology& topology, const HpcJobs& jobs);

}  // namespace podgpu
