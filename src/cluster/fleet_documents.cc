#include "cluster/fleet_documents.h"

#include "base/text.h"
#include "cluster/fleet_json.h"

namespace podgpu {
namespace {

// More namespaces than users request between two readings.
constexpr size_t kMostDocuments = 16;
constexpr std::string_view kFleetType = "application/json";

// Returns whether both give the same JSON.
bool SayTheSame(const ClusterFacts& a, const ClusterFacts& b) {
  return a.fleet == b.fleet && a.list == b.list && a.states == b.states && a.labels == b.labels;
}

Status CheckNamespace(std::string_view name) {
  constexpr size_t kLongestNamespace = 63;
  return name.size() <= kLongestNamespace &&
                 name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                     std::string_view::npos
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   "\"namespace\" is the name of a namespace, such as research");
}

Status CheckEpoch(std::string_view epoch) {
  constexpr size_t kEpochDigits = 16;
  return epoch.empty() || (epoch.size() == kEpochDigits &&
                           epoch.find_first_not_of("0123456789abcdef") == std::string_view::npos)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   "\"epoch\" is the 16 digits under \"epoch\" of an earlier answer");
}

}  // namespace

StatusOr<FleetQuery> ParseFleetQuery(std::string_view query) {
  constexpr std::string_view kNamespace = "namespace=";
  constexpr std::string_view kEpoch = "epoch=";
  FleetQuery parsed;
  for (const std::string_view parameter : Split(query, '&')) {
    if (parameter.starts_with(kNamespace)) {
      parsed.pod_namespace = parameter.substr(kNamespace.size());
    } else if (parameter.starts_with(kEpoch)) {
      parsed.epoch = parameter.substr(kEpoch.size());
    } else if (!parameter.empty()) {
      return absl::InvalidArgumentError("the only parameters are \"namespace\" and \"epoch\"");
    }
  }
  PODGPU_RETURN_IF_ERROR(CheckNamespace(parsed.pod_namespace));
  PODGPU_RETURN_IF_ERROR(CheckEpoch(parsed.epoch));
  return parsed;
}

std::shared_ptr<Document> FleetDocuments::Of(const std::shared_ptr<const ClusterFacts>& facts,
                                             const FleetQuery& query) {
  if (facts_ == nullptr || !SayTheSame(*facts_, *facts) || by_namespace_.size() >= kMostDocuments) {
    by_namespace_.clear();
    facts_ = facts;
  }
  auto place = by_namespace_.find(query.pod_namespace);
  if (place == by_namespace_.end()) {
    place = by_namespace_.emplace(query.pod_namespace, Make(query.pod_namespace)).first;
  }
  const Forms& forms = place->second;
  return query.epoch == forms.epoch ? forms.delta : forms.whole;
}

FleetDocuments::Forms FleetDocuments::Make(std::string_view pod_namespace) const {
  FleetText text = MakeFleetText(*facts_, pod_namespace, links_);
  Forms forms;
  forms.epoch = std::move(text.epoch);
  forms.delta = MakeDocument(std::move(text.delta), std::string(kFleetType));
  // The tag of the delta covers the tables as well, because the epoch is a part of its bytes.
  forms.whole = std::make_shared<Document>(
      Document{std::move(text.whole), std::string(kFleetType), forms.delta->etag});
  return forms;
}

}  // namespace podgpu
