#include "cluster/node_labels.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "kube/api_pace.h"

namespace podgpu {
namespace {

constexpr size_t kMostGroupLabels = 8;

bool HasOnly(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text, [others](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || others.find(byte) != std::string_view::npos;
  });
}

// Kubernetes' form of a key, "prefix/name" or "name" (apimachinery, util/validation).
bool IsLabelKey(std::string_view key) {
  constexpr size_t kLongestPrefix = 253;
  constexpr size_t kLongestName = 63;
  const size_t slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  const std::string_view prefix = slash == std::string_view::npos ? "" : key.substr(0, slash);
  return !name.empty() && name.size() <= kLongestName && HasOnly(name, "-_.") && slash != 0 &&
         prefix.size() <= kLongestPrefix && HasOnly(prefix, "-.");
}

NodeLabels::Values ValuesIn(const ApiObject& node, const std::vector<std::string>& keys) {
  NodeLabels::Values values;
  for (const std::string& key : keys) {
    const auto label =
        std::ranges::find(node.labels, key, &std::pair<std::string, std::string>::first);
    values.push_back(label == node.labels.end() ? std::nullopt : std::optional(label->second));
  }
  return values;
}

}  // namespace

StatusOr<std::vector<std::string>> ParseGroupLabels(std::string_view text) {
  std::vector<std::string> keys;
  for (const std::string_view part : Split(text, ',')) {
    const std::string key(Trim(part));
    if (!IsLabelKey(key)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s is not the key of a label; write keys such as pool,topology.kubernetes.io/zone",
          Quoted(key)));
    }
    if (std::ranges::find(keys, key) != keys.end()) {
      return absl::InvalidArgumentError(absl::StrFormat("%s occurs twice", Quoted(key)));
    }
    keys.push_back(key);
  }
  if (keys.size() > kMostGroupLabels) {
    return absl::InvalidArgumentError(
        absl::StrFormat("has %d keys; at most %d are read", keys.size(), kMostGroupLabels));
  }
  return keys;
}

NodeLabelReader::NodeLabelReader(GroupLabelsOption option, const Files& files, Clock& clock,
                                 std::function<void()> changed)
    : option_(std::move(option)), files_(files), clock_(clock), changed_(std::move(changed)) {
  current_.keys = option_.keys;
  if (!option_.keys.empty()) {
    current_.detail = "the API server has not been asked for the labels of nodes yet";
  }
  labels_.Set(std::make_shared<const NodeLabels>(current_));
}

void NodeLabelReader::Run(const std::stop_token& stop) {
  if (option_.keys.empty()) {
    return;
  }
  ApiMirror mirror(option_.server, ApiCollection::kNodes,
                   ApiScope{.name_space = "", .labels = "", .kept_labels = option_.keys}, files_);
  ApiPace pace(option_.seed);
  while (!stop.stop_requested()) {
    const Instant began = clock_.Now();
    const ApiRound round = mirror.Follow(stop, [&] { TakeObjects(mirror.objects()); });
    if (stop.stop_requested()) {
      return;
    }
    if (!round.status.ok()) {
      TakeFailure(round.status);
    }
    const Duration wait = pace.After(round, clock_.Now() - began);
    if (wait > Duration::zero() && !clock_.WaitUntil(clock_.Now() + wait, stop)) {
      return;
    }
  }
}

void NodeLabelReader::TakeObjects(const ApiObjects& objects) {
  NodeLabels next = current_;
  next.of_node.clear();
  for (const auto& [key, node] : objects) {
    next.of_node.emplace(node.name, ValuesIn(node, option_.keys));
  }
  next.is_known = next.is_ok = true;
  next.detail.clear();
  Publish(std::move(next));
}

void NodeLabelReader::TakeFailure(const Status& failure) {
  NodeLabels next = current_;
  next.is_ok = false;
  ++next.failures;
  next.detail = absl::StrFormat(
      "%s; %s", failure.message(),
      next.is_known ? "the labels read before stay" : "the labels of nodes are not known");
  Publish(std::move(next));
}

void NodeLabelReader::Publish(NodeLabels next) {
  const bool has_news = next.of_node != current_.of_node || next.is_ok != current_.is_ok ||
                        next.is_known != current_.is_known || next.detail != current_.detail;
  const bool is_said = next.detail != current_.detail;
  current_ = std::move(next);
  if (!has_news) {
    return;
  }
  labels_.Set(std::make_shared<const NodeLabels>(current_));
  if (is_said) {
    Log(current_.is_ok ? LogLevel::kInfo : LogLevel::kWarn,
        current_.is_ok ? "the labels of nodes are known" : "the labels of nodes cannot be read",
        {{"detail", current_.is_ok ? absl::StrFormat("%d nodes", current_.of_node.size())
                                   : current_.detail}});
  }
  changed_();
}

}  // namespace podgpu
