// The job refresher: reads the batch system's jobs at its own pace.  No tick and no scrape waits
// for it.
//
// Reads the directory every `period`.  A directory on a shared file system may hang, so this work
// has its own thread.  While the directory does not exist, there are no jobs, and the reason is
// logged once; a directory that appears is read within one period.  Publishes JobFacts after each
// read.  Run is the body of one thread; the rest may be called from any thread.
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
  // All arguments passed by reference outlive the refresher.  It nudges `tick` when facts change.
  JobRefresher(const Files& files, JobRefresherOptions options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<JobFacts>& facts() const { return publisher_.facts(); }

 private:
  void ReadOnce();

  const Files& files_;
  const JobRefresherOptions options_;
  Clock& clock_;
  FactPublisher<JobFacts> publisher_;
};

}  // namespace podgpu
