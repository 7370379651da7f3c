// The container refresher: asks a container runtime outside Kubernetes which containers run and
// which GPUs each was given, at its own pace.  No tick and no scrape waits for it.
//
// Speaks Docker's API over a Unix socket: each `period` the list of running containers, and once
// per container its details, since those never change.  Each answer has a time limit, and after
// twice that time a round asks no more; the next one goes on with containers that were not reached.
// A container whose details fail is asked again after a minute, after the new ones, so that one
// that hangs holds up no other.  podgpu's own container is left out: it is given the GPUs only to
// watch them.  After a failed list the last one stays, with its age.  Publishes ContainerFacts
// after each round.  Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attribution/runtime_containers.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "facts/thread_facts.h"
#include "http/client.h"
#include "refresh/fact_publisher.h"

namespace podgpu {

struct ContainerRefresherOptions {
  std::string socket;  // Path of the runtime's socket; empty: off.
  std::chrono::milliseconds period{10'000};
  std::chrono::milliseconds answer_limit{2'000};
};

class ContainerRefresher {
 public:
  // All arguments passed by reference outlive the refresher.  It nudges `tick` when facts change.
  // `files` has /proc/self/mountinfo, which names podgpu's own container.
  ContainerRefresher(const Files& files, ContainerRefresherOptions options, Clock& clock,
                     Wakeup& tick);

  void Run(const std::stop_token& stop);

  const Published<ContainerFacts>& facts() const { return publisher_.facts(); }

 private:
  using Listed = std::vector<RuntimeContainer>;
  // What is known of the details of a running container.
  struct Known {
    std::optional<std::vector<std::string>> devices = std::nullopt;
    std::string failure = {};  // Why there are no devices; empty: they are known.
    Instant ask_again{};
    bool was_missing = false;  // The last answer was 404.
  };

  void RefreshOnce(const std::stop_token& stop);
  // Asks for the list; nothing at a stop.
  std::optional<StatusOr<Listed>> List(const std::stop_token& stop);
  void RemoveOwn(Listed& listed);
  // Asks for the details of containers in `listed` until `limit`.
  void ReadDetails(const Listed& listed, Instant limit, const std::stop_token& stop);
  // The containers to ask for details: those never asked for, then those to be asked again.
  Listed WithoutDetails(const Listed& listed) const;
  void Ask(const std::string& path, std::function<void(StatusOr<HttpAnswer>)> done);
  void TakeDetails(const std::string& id, const StatusOr<HttpAnswer>& answer);
  void Accept(const Listed& listed);
  void Refuse(const Status& failure);

  const Files& files_;
  const ContainerRefresherOptions options_;
  Clock& clock_;
  HttpClient client_;
  std::optional<std::string> own_hostname_file_;  // Nothing before the first list.
  std::map<std::string, Known> known_;            // By id; the containers of the last list.
  uint64_t failures_ = 0;                         // Requests that failed.
  FactPublisher<ContainerFacts> publisher_;
};

}  // namespace podgpu
