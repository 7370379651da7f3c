// The API refresher: keeps one collection of the API server new, never in the way of a tick or a
// scrape.
//
// Follows the collection (kube/api_mirror.h) on a thread of its own.  After a watch that ended in
// good order it goes on at once; after a failure it waits, longer each time and for a random part
// of it, so that the nodes of a cluster do not come together; what was known stays meanwhile, for a
// while, which is the tick's business.  Publishes ApiFacts when something has changed; each change
// of state is one log line.  Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "facts/thread_facts.h"
#include "kube/api_mirror.h"
#include "kube/api_pace.h"
#include "kube/renewed_pods.h"
#include "refresh/fact_publisher.h"

namespace podgpu {

struct ApiRefresherOptions {
  ApiCollection collection = ApiCollection::kPods;
  // Where the server is, or why there is none: then the feature stays off and says so.
  StatusOr<ApiServerOptions> server = absl::FailedPreconditionError("no API server is known");
  uint32_t seed = 0;  // Of the random part of waits.
};

class ApiRefresher {
 public:
  // All borrowed things outlive the refresher.  `tick` is nudged when there is news.
  ApiRefresher(const Files& files, const ApiRefresherOptions& options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<ApiFacts>& facts() const { return publisher_.facts(); }

 private:
  void TakeNews();
  void Judge(const ApiRound& round);

  const std::string what_;
  Clock& clock_;
  std::unique_ptr<ApiMirror> mirror_;  // Null when there is no server.
  ApiPace pace_;
  RenewedPods renewed_;
  uint64_t revision_ = 0;  // Of the mirror, when it was published last.
  FactPublisher<ApiFacts> publisher_;
};

}  // namespace podgpu
