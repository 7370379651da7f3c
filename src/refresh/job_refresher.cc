#include "refresh/job_refresher.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

std::string DescribeJobs(std::string_view directory, const HpcJobs& jobs) {
  std::string text = absl::StrFormat("%s lists %d jobs on %d devices", directory, jobs.job_count(),
                                     jobs.by_device.size());
  if (!jobs.complaints.empty()) {
    absl::StrAppendFormat(&text, "; problems: %d, the first: %s", jobs.complaints.size(),
                          jobs.complaints.front());
  }
  return text;
}

JobFacts AtFirst(std::string_view directory) {
  JobFacts first;
  first.detail = absl::StrFormat("reading %s for the first time", directory);
  return first;
}

}  // namespace

JobRefresher::JobRefresher(const Files& files, JobRefresherOptions options, Clock& clock,
                           Wakeup& tick)
    : files_(files),
      options_(std::move(options)),
      clock_(clock),
      publisher_({.message = "job directory state changed"}, AtFirst(options_.directory), tick) {}

void JobRefresher::Run(const std::stop_token& stop) {
  do {
    ReadOnce();
  } while (clock_.WaitUntil(clock_.Now() + options_.period, stop));
}

void JobRefresher::ReadOnce() {
  StatusOr<HpcJobs> jobs = ReadHpcJobs(files_, options_.directory);
  JobFacts next = publisher_.current();
  if (jobs.ok()) {
    next.good_at = clock_.Now();
    next.state = jobs->complaints.empty() ? PartState::kOk : PartState::kDegraded;
    next.detail = DescribeJobs(options_.directory, *jobs);
    if (next.value == nullptr || *next.value != *jobs) {
      next.value = std::make_shared<const HpcJobs>(*std::move(jobs));
    }
  } else {
    next.value = nullptr;
    next.state = PartState::kWaiting;
    next.detail =
        std::string(jobs.status().message()) +
        ". Rows have no job labels until then; correct --hpc-job-mapping-dir, or mount it";
    ++next.failures;
  }
  publisher_.Publish(std::move(next));
}

}  // namespace podgpu
