#include "attribution/hpc_jobs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether the name is like "0" or "0.7".
bool NamesADevice(std::string_view name) {
  const std::vector<std::string_view> parts = Split(name, '.');
  return parts.size() <= 2 && std::ranges::all_of(parts, &IsNumber);
}

std::string JobFileName(const Topology& topology, EntityId entity) {
  std::string name = std::to_string(topology.GpuOf(entity).gpu_id);
  if (const GpuInstance* instance = topology.InstanceOf(entity)) {
    name += "." + std::to_string(instance->gpu_instance_id);
  }
  return name;
}

void Complain(const std::string& path, const JobList& list, HpcJobs& jobs) {
  if (list.too_long > 0) {
    jobs.complaints.push_back(absl::StrFormat("%s: ignored %d lines: a job id has at most %d bytes",
                                              path, list.too_long, kLongestJobBytes));
  }
  if (list.too_many > 0) {
    jobs.complaints.push_back(absl::StrFormat("%s: ignored %d jobs after the first %d", path,
                                              list.too_many, kMostJobsPerDevice));
  }
}

}  // namespace

JobList ParseJobList(std::string_view content) {
  JobList list;
  std::set<std::string, std::less<>> seen;
  for (const std::string_view line : Split(content, '\n')) {
    const std::string_view job = Trim(line);
    if (job.empty()) {
      continue;
    }
    if (job.size() > kLongestJobBytes) {
      ++list.too_long;
    } else if (!seen.contains(job)) {
      if (seen.size() == kMostJobsPerDevice) {
        ++list.too_many;
        continue;
      }
      seen.emplace(job);
      list.jobs.emplace_back(job);
    }
  }
  return list;
}

StatusOr<HpcJobs> ReadHpcJobs(const Files& files, std::string_view directory) {
  PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  HpcJobs jobs;
  for (const std::string& name : names) {
    if (!NamesADevice(name)) {
      continue;
    }
    const std::string path = std::string(directory) + "/" + name;
    const StatusOr<std::string> content = files.Read(path);
    if (!content.ok()) {
      // The file was removed after the directory was listed: its job has ended.
      if (content.status().code() != absl::StatusCode::kNotFound) {
        jobs.complaints.emplace_back(content.status().message());
      }
      continue;
    }
    JobList list = ParseJobList(*content);
    Complain(path, list, jobs);
    if (!list.jobs.empty()) {
      jobs.by_device.emplace(name, std::move(list.jobs));
    }
  }
  return jobs;
}

std::vector<std::vector<std::string>> JobsByEntity(const Topology& topology, const HpcJobs& jobs) {
  std::vector<std::vector<std::string>> by_entity(topology.entities.size());
  for (size_t i = 0; i < by_entity.size(); ++i) {
    const auto found =
        jobs.by_device.find(JobFileName(topology, EntityId{static_cast<uint16_t>(i)}));
    if (found != jobs.by_device.end()) {
      by_entity[i] = found->second;
    }
  }
  return by_entity;
}

}  // namespace podgpu
