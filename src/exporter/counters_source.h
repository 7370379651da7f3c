// Reads the list of metrics: from a ConfigMap of the API server if one is named (--configmap-data),
// else from the counters file.
//
// A thread of its own reads the ConfigMap and then watches it: a change arrives at once, and no
// scrape and no tick waits for the API server.  Until the first successful read the counters file
// is in use; after it the file is ignored, and the last list stays in use while the API server is
// unreachable.  Load and LoadIfChanged are called on one thread.
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
  std::string path;                           // Path in the form that CountersFile takes.
  std::string setting = "--collectors (-f)";  // Names the path.
  std::optional<Counters> list = {};        // The list itself, from `path`; nothing: it is a file.
  ListsOfRelease release = {};              // For built-in lists and their copies.
  std::optional<ConfigMapName> config_map;  // Nothing: the file alone.
  // API server address and credentials, or the reason they are missing.
  StatusOr<ApiServerOptions> server = absl::FailedPreconditionError("no API server is known");
  // The time for which the first Load waits for the ConfigMap.
  std::chrono::milliseconds patience{5'000};
};

class CountersSource {
 public:
  // `files` and `clock` outlive this object.
  CountersSource(CountersSourceOptions options, const Files& files, Clock& clock);

  // Reads the list now.  kInvalidArgument with the complete one-line message.
  StatusOr<Counters> Load();

  // Returns a changed list, or why it is refused; nothing when there is no change since the last
  // call.
  std::optional<StatusOr<Counters>> LoadIfChanged();

  // Returns why the named ConfigMap is not in use; empty when it is in use or none is named.
  std::string warning() const;

 private:
  // The result of the last request.
  struct ConfigMapFacts {
    bool answered = false;  // At least one request has ended.
    bool exists = false;
    std::optional<std::string> metrics;  // The text under the key of that name.
    std::string trouble;                 // Why the last request failed; empty: it succeeded.
    bool SaysTheSame(const ConfigMapFacts& other) const {
      return exists == other.exists && metrics == other.metrics;
    }
  };

  StatusOr<Counters> LoadFile();
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
  std::optional<ConfigMapFacts> judged_;  // Already returned; nothing while the file is in use.
  Wakeup answered_;
  Worker thread_;
};

}  // namespace podgpu
