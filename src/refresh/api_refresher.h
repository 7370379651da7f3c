// The API refresher: keeps a current copy of one collection of the API server.  No tick and no
// scrape waits for it.
//
// Follows the collection (kube/api_mirror.h) on its own thread.  After a watch that ended normally
// it continues at once.  After a failure it waits, longer each time, and part of the wait is
// random: otherwise all nodes of a cluster would reconnect at the same moment.  Meanwhile the last
// known objects stay published; the tick decides how long it uses them.  Publishes ApiFacts when
// something has changed and logs one line per change of state.  Run is the body of one thread; the
// rest may be called from any thread.
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
  // API server address and credentials, or the reason they are missing; the feature is off then.
  StatusOr<ApiServerOptions> server = absl::FailedPreconditionError("no API server is known");
  uint32_t seed = 0;  // For the random part of waits.
};

class ApiRefresher {
 public:
  // All arguments passed by reference outlive the refresher.  It nudges `tick` when facts change.
  ApiRefresher(const Files& files, const ApiRefresherOptions& options, Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<ApiFacts>& facts() const { return publisher_.facts(); }

 private:
  void TakeNews();
  void Judge(const ApiRound& round);

  const std::string noun_;
  const std::string what_;
  Clock& clock_;
  std::unique_ptr<ApiMirror> mirror_;  // Null when there is no server.
  ApiPace pace_;
  RenewedPods renewed_;
  uint64_t revision_ = 0;  // The mirror's revision at the last publication.
  FactPublisher<ApiFacts> publisher_;
};

}  // namespace podgpu
