// What the metrics API follows at the API server: who is trusted, the labels of pods, and chosen
// labels of nodes.
//
// Each class is one watch; its Run is the body of one thread, the rest may be called from any
// thread. While the API server does not answer, the last state stays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "metrics_api/access/authenticator.h"
#include "metrics_api/access/follow.h"
#include "metrics_api/values/use_window.h"

namespace podgpu {

// Follows the ConfigMap extension-apiserver-authentication. A changed one that is not valid is
// reported, and the previous one stays.
class CallerWatch {
 public:
  // All borrowed objects outlive it.
  CallerWatch(ApiServerOptions server, uint32_t seed, const Files& files, Clock& clock);

  void Run(const std::stop_token& stop);

  // Null before the first valid ConfigMap.
  const Published<TrustedCallers>& trusted() const { return trusted_; }
  const Published<WatchFacts>& facts() const { return facts_; }

 private:
  Status Take();

  ApiMirror mirror_;
  const uint32_t seed_;
  Clock& clock_;
  Published<TrustedCallers> trusted_;
  Published<WatchFacts> facts_;
};

using ObjectLabels = std::vector<std::pair<std::string, std::string>>;

// Follows the labels of all pods of the cluster.
class PodLabelWatch {
 public:
  PodLabelWatch(ApiServerOptions server, uint32_t seed, const Files& files, Clock& clock);

  void Run(const std::stop_token& stop);

  // Returns null for an unknown pod.
  std::shared_ptr<const ObjectLabels> LabelsOf(std::string_view name_space,
                                               std::string_view pod) const;
  const Published<WatchFacts>& facts() const { return facts_; }

 private:
  ApiMirror mirror_;
  const uint32_t seed_;
  Clock& clock_;
  mutable Mutex mutex_;  // Questions come from the HTTP thread; a copy of all pods for each change
                         // would be too large to publish.
  std::unordered_map<std::string, std::shared_ptr<const ObjectLabels>> labels_
      PODGPU_GUARDED_BY(mutex_);  // By "namespace/name".
  Published<WatchFacts> facts_;
};

// Follows the labels with these keys of all nodes.
class NodeLabelWatch {
 public:
  NodeLabelWatch(ApiServerOptions server, std::vector<std::string> keys, uint32_t seed,
                 const Files& files, Clock& clock);

  void Run(const std::stop_token& stop);

  // Null before the first list.
  const Published<NodeLabelMap>& labels() const { return published_; }
  const Published<WatchFacts>& facts() const { return facts_; }

 private:
  ApiMirror mirror_;
  const uint32_t seed_;
  Clock& clock_;
  NodeLabelMap labels_;
  bool has_news_ = true;
  Published<NodeLabelMap> published_;
  Published<WatchFacts> facts_;
};

}  // namespace podgpu
