// Where the list of metrics comes from: a ConfigMap of the API server where one is named
// (--configmap-data), else, and as long as that cannot be read, the counters file.
//
// The ConfigMap is asked for on a thread of its own and then watched, so that a change is heard at
// once and a quiet one costs nothing; no scrape and no tick waits for it.  Once it has been read
// the file is not looked at any more; what was read stays when the API server goes away.  One
// thread calls Load and LoadIfChanged.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/worker.h"
#include "fields/counters_csv.h"
#include "fields/counters_file.h"
#include "kube/api_server.h"

namespace podgpu {

struct CountersSourceOptions {
  std::string path;                         // As CountersFile takes it.
  std::optional<ConfigMapName> config_map;  // Nothing: the file alone.
  // Where the server is, or why there is none.
  StatusOr<ApiServerOptions> server = absl::FailedPreconditionError("no API server is known");
  // How long the first Load waits for the ConfigMap.
  std::chrono::milliseconds patience{5'000};
};

class CountersSource {
 public:
  // Borrowed things outlive this.
  CountersSource(CountersSourceOptions options, const Files& files, Clock& clock);

  // Reads now.  kInvalidArgument with the complete one-line message.
  StatusOr<Counters> Load();

  // The outcome of a changed list, once.
  std::optional<StatusOr<Counters>> LoadIfChanged();

  // Why the ConfigMap that is named is not in force; empty when it is, or none is named.
  std::string warning() const;

 private:
  // What the last question has brought.
  struct ConfigMapFacts {
    bool answered = false;  // At least one question has ended.
    bool exists = false;
    std::optional<std::string> metrics;  // The text under the key of that name.
    std::string trouble;                 // Why the last question failed; empty: it did not.
    bool SaysTheSame(const ConfigMapFacts& other) const {
      return exists == other.exists && metrics == other.metrics;
    }
  };

  void Follow(const ApiServerOptions& server, const std::stop_token& stop);
  void Publish(ConfigMapFacts next);
  void AwaitAnswer();
  StatusOr<Counters> Judge(const ConfigMapFacts& facts);
  static std::string TroubleIn(const ConfigMapFacts& facts);
  std::string Named() const;

  const CountersSourceOptions options_;
  const Files& files_;
  Clock& clock_;
  CountersFile file_;
  Published<ConfigMapFacts> facts_;
  std::optional<ConfigMapFacts> judged_;  // Of the ConfigMap; nothing while the file is in force.
  Wakeup answered_;
  Worker thread_;
};

}  // namespace podgpu
