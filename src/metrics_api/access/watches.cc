#include "metrics_api/access/watches.h"

#include <algorithm>

namespace podgpu {
namespace {

constexpr FollowedCollection kCallers = {
    "the ConfigMap extension-apiserver-authentication",
    ": bind the Role extension-apiserver-authentication-reader to its service account"};
constexpr FollowedCollection kPodLabels = {"the labels of pods", ""};
constexpr FollowedCollection kNodeLabels = {"the labels of nodes", ""};

}  // namespace

CallerWatch::CallerWatch(ApiServerOptions server, uint32_t seed, const Files& files, Clock& clock)
    : mirror_(std::move(server), ConfigMapName{"kube-system", "extension-apiserver-authentication"},
              files),
      seed_(seed),
      clock_(clock) {
  facts_.Set(std::make_shared<const WatchFacts>());
}

void CallerWatch::Run(const std::stop_token& stop) {
  FollowUntilStop(kCallers, {mirror_, facts_, [this] { return Take(); }}, seed_, clock_, stop);
}

Status CallerWatch::Take() {
  if (mirror_.objects().empty()) {
    return absl::NotFoundError("it was deleted; the previous one stays in use");
  }
  PODGPU_ASSIGN_OR_RETURN(
      AuthenticationConfig config,
      ReadAuthenticationConfig(mirror_.objects().begin()->second.authentication));
  const std::shared_ptr<const TrustedCallers> before = trusted_.Get();
  if (before == nullptr || before->config != config) {
    PODGPU_ASSIGN_OR_RETURN(std::shared_ptr<const TrustedCallers> next,
                            MakeTrustedCallers(std::move(config)));
    trusted_.Set(std::move(next));
  }
  return absl::OkStatus();
}

PodLabelWatch::PodLabelWatch(ApiServerOptions server, uint32_t seed, const Files& files,
                             Clock& clock)
    : mirror_(std::move(server), ApiCollection::kPods, ApiScope{}, files),
      seed_(seed),
      clock_(clock) {
  facts_.Set(std::make_shared<const WatchFacts>());
  mirror_.Observe([this](const std::string& key, const ApiObject* now) {
    MutexLock lock(mutex_);
    if (now == nullptr) {
      labels_.erase(key);
    } else {
      labels_[key] = std::make_shared<const ObjectLabels>(now->labels);
    }
  });
}

void PodLabelWatch::Run(const std::stop_token& stop) {
  FollowUntilStop(kPodLabels, {mirror_, facts_, [] { return absl::OkStatus(); }}, seed_, clock_,
                  stop);
}

std::shared_ptr<const ObjectLabels> PodLabelWatch::LabelsOf(std::string_view name_space,
                                                            std::string_view pod) const {
  std::string key(name_space);
  key += '/';
  key += pod;
  MutexLock lock(mutex_);
  const auto found = labels_.find(key);
  return found == labels_.end() ? nullptr : found->second;
}

NodeLabelWatch::NodeLabelWatch(ApiServerOptions server, std::vector<std::string> keys,
                               uint32_t seed, const Files& files, Clock& clock)
    : mirror_(std::move(server), ApiCollection::kNodes,
              ApiScope{.name_space = "", .labels = "", .kept_labels = std::move(keys)}, files),
      seed_(seed),
      clock_(clock) {
  facts_.Set(std::make_shared<const WatchFacts>());
  mirror_.Observe([this](const std::string& key, const ApiObject* now) {
    has_news_ = true;
    if (now == nullptr) {
      labels_.erase(key.substr(1));  // "/name": it has no namespace.
    } else {
      labels_[now->name] = {now->labels.begin(), now->labels.end()};
    }
  });
}

void NodeLabelWatch::Run(const std::stop_token& stop) {
  const auto publish = [this] {
    if (std::exchange(has_news_, false)) {
      published_.Set(std::make_shared<const NodeLabelMap>(labels_));
    }
    return absl::OkStatus();
  };
  FollowUntilStop(kNodeLabels, {mirror_, facts_, publish}, seed_, clock_, stop);
}

}  // namespace podgpu
