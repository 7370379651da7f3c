#include "exporter/job_refresher.h"

#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"

namespace podgpu {
namespace {

std::string DescribeJobs(std::string_view directory, const HpcJobs& jobs) {
  std::string text = absl::StrFormat("%s lists %d jobs on %d devices", directory, jobs.job_count(),
                                     jobs.by_device.size());
  if (!jobs.complaints.empty()) {
    absl::StrAppendFormat(&text, "; %d complaints, the first: %s", jobs.complaints.size(),
                          jobs.complaints.front());
  }
  return text;
}

}  // namespace

JobRefresher::JobRefresher(const Files& files, JobRefresherOptions options, Clock& clock,
                           Wakeup& tick)
    : files_(files), options_(std::move(options)), clock_(clock), tick_(tick) {
  current_.detail = absl::StrFormat("looking into %s for the first time", options_.directory);
  facts_.Set(std::make_shared<const JobFacts>(current_));
}

void JobRefresher::Run(const std::stop_token& stop) {
  do {
    LookOnce();
  } while (clock_.WaitUntil(clock_.Now() + options_.period, stop));
}

void JobRefresher::LookOnce() {
  StatusOr<HpcJobs> jobs = ReadHpcJobs(files_, options_.directory);
  JobFacts next = current_;
  if (jobs.ok()) {
    next.state = jobs->complaints.empty() ? PartState::kOk : PartState::kDegraded;
    next.detail = DescribeJobs(options_.directory, *jobs);
    if (next.jobs == nullptr || *next.jobs != *jobs) {
      next.jobs = std::make_shared<const HpcJobs>(*std::move(jobs));
    }
  } else {
    next.jobs = nullptr;
    next.state = PartState::kWaiting;
    next.detail = std::string(jobs.status().message()) +
                  ". Rows have no jobs meanwhile; correct --hpc-job-mapping-dir, or mount it";
    ++next.failures;
  }
  Publish(std::move(next));
}

void JobRefresher::Publish(JobFacts next) {
  const bool state_changed = next.state != current_.state;
  const bool news = state_changed || next.jobs != current_.jobs || next.detail != current_.detail;
  const bool counted = next.failures != current_.failures;
  current_ = std::move(next);
  if (news || counted) {
    facts_.Set(std::make_shared<const JobFacts>(current_));
  }
  if (state_changed) {
    Log(current_.state == PartState::kOk ? LogLevel::kInfo : LogLevel::kWarn,
        "the directory of jobs has changed its state",
        {{"state", std::string(PartStateName(current_.state))}, {"detail", current_.detail}});
  }
  if (news) {
    tick_.Nudge();
  }
}

}  // namespace podgpu
