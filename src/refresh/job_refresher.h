// The job refresher: keeps the batch system's jobs new, at its own pace, never in the way of a tick
// or a scrape.
//
// Looks into the directory every `period`: a directory on a shared file system may hang, which is
// why this has a thread of its own.  While the directory is not there, there are no jobs, and the
// reason is said once; when it appears it is met within one period.  Publishes JobFacts after each
// look.  Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "attribution/hpc_jobs.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "facts/thread_facts.h"
#include "refresh/fact_publisher.h"

namespace podgpu {

struct JobRefresherOptions {
  std::string directory;  // Empty: off.
  std::chrono::milliseconds period{10'000};
};

class JobRefresher {
 public:
  // All borrowed things outlive the refresher.  `tick` is nudged when there is news.
  JobRefresher(const Files& files, JobRefresherOptions options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<JobFacts>& facts() const { return publisher_.facts(); }

 private:
  void LookOnce();

  const Files& files_;
  const JobRefresherOptions options_;
  Clock& clock_;
  FactPublisher<JobFacts> publisher_;
};

}  // namespace podgpu
