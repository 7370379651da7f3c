#include "kube/api_mirror.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/free_memory.h"
#include "base/percent.h"
#include "kube/api_refusal.h"
#include "kube/list_stream.h"

namespace podgpu {
namespace {

// A node usually has 110 pods and never more than 1,000; only the metadata of a pod is requested.
constexpr size_t kMostObjects = 10'000;
// Limit for a scope: a pod on each node of the largest cluster, while they are being replaced.
constexpr size_t kMostScopedObjects = 40'000;
// All pods of the largest cluster that Kubernetes supports, while some are being replaced.
constexpr size_t kMostObjectsOfCluster = 200'000;
// No cluster's list is larger; only one object of it is in memory at a time.
constexpr size_t kMaxListBytes = size_t{4} << 30;
constexpr size_t kMaxEventBytes = size_t{4} << 20;  // An object has at most 1.5 MiB.
constexpr size_t kMaxFailureBytes = 65'536;
constexpr std::chrono::milliseconds kListPatience{30'000};
// The server ends the watch after this time; each end costs one request.
constexpr int kWatchSeconds = 3'600;
constexpr int kPageSize = 500;
constexpr size_t kManyObjects = 1'000;

constexpr std::string_view kPodsPath = "/api/v1/pods";
constexpr std::string_view kResourceGroup = "/apis/resource.k8s.io";
// Newest first.
constexpr std::string_view kSliceVersions[] = {"v1", "v1beta2", "v1beta1"};
constexpr std::string_view kSliceDriver = "gpu.nvidia.com";

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMetadataOf = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
constexpr std::string_view kMetadataListOf = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

std::string KeyOf(const ApiObject& object) { return object.name_space + "/" + object.name; }

// Servers that cannot return metadata only return whole pods; both are accepted.
std::string AcceptFor(ApiCollection collection, std::string_view cut) {
  std::string accept(kJson);
  if (collection == ApiCollection::kPods || collection == ApiCollection::kNodes) {
    accept += std::string(cut) + "," + std::string(kJson);
  }
  return accept;
}

// `rights`: the rights to grant.
std::string RemedyFor(int code, const std::string& rights) {
  return code == 401   ? ". The token is not accepted; it is read again for the next request"
         : code == 403 ? ". Grant " + rights
                       : "";
}

Status Refused(int code, std::string_view what, const ApiFailure& failure,
               const std::string& rights) {
  return StatusOfAnswer(
      code,
      absl::StrFormat("the API server answers %d to %s%s%s%s", code, what,
                      failure.message.empty() ? "" : ": ",
                      failure.message.empty() ? std::string() : QuotedRefusal(failure.message),
                      RemedyFor(code, rights)));
}

}  // namespace

ApiMirror::ApiMirror(ApiServerOptions server, ApiCollection collection, const Files& files)
    : server_(std::move(server)), collection_(collection), files_(files) {}

ApiMirror::ApiMirror(ApiServerOptions server, ConfigMapName config_map, const Files& files)
    : server_(std::move(server)),
      collection_(ApiCollection::kConfigMap),
      config_map_(std::move(config_map)),
      files_(files) {}

ApiMirror::ApiMirror(ApiServerOptions server, ApiCollection collection, ApiScope scope,
                     const Files& files)
    : server_(std::move(server)), collection_(collection), scope_(std::move(scope)), files_(files) {
  PODGPU_CHECK(collection != ApiCollection::kResourceSlices &&
               collection != ApiCollection::kConfigMap);
}

std::string_view ApiMirror::what() const {
  switch (collection_) {
    case ApiCollection::kPods:
    case ApiCollection::kWholePods:
      return "pods";
    case ApiCollection::kResourceSlices:
      return "resourceslices";
    case ApiCollection::kConfigMap:
      return "configmaps";
    case ApiCollection::kEndpointSlices:
      return "endpointslices";
    case ApiCollection::kNodes:
      return "nodes";
  }
  return "";
}

std::string ApiMirror::RightsWanted() const {
  if (collection_ == ApiCollection::kConfigMap) {
    return absl::StrFormat("get, list and watch of the ConfigMap %s by a Role in the namespace %s",
                           config_map_.name, config_map_.name_space);
  }
  if (!scope_) {
    return "list and watch by a ClusterRole";
  }
  if (scope_->name_space.empty()) {
    return absl::StrFormat("list and watch of %s by a ClusterRole", what());
  }
  return absl::StrFormat("list and watch of %s%s in the namespace %s by a Role", what(),
                         collection_ == ApiCollection::kEndpointSlices ? " (discovery.k8s.io)" : "",
                         scope_->name_space);
}

size_t ApiMirror::MostObjects() const {
  return !scope_                      ? kMostObjects
         : scope_->name_space.empty() ? kMostObjectsOfCluster
                                      : kMostScopedObjects;
}

// Returns the selector in the form of a query that continues; empty if everything is selected.
std::string ApiMirror::Selector() const {
  if (scope_) {
    return scope_->labels.empty() ? "" : "labelSelector=" + PercentEncode(scope_->labels) + "&";
  }
  if (collection_ == ApiCollection::kConfigMap) {
    return "fieldSelector=" + PercentEncode("metadata.name=" + config_map_.name) + "&";
  }
  const std::string selector = "spec.nodeName=" + server_.node;
  return "fieldSelector=" +
         PercentEncode(collection_ == ApiCollection::kResourceSlices
                           ? selector + ",spec.driver=" + std::string(kSliceDriver)
                           : selector) +
         "&";
}

ApiRound ApiMirror::Follow(const std::stop_token& stop, const std::function<void()>& changed) {
  ApiRound round;
  round.status = FollowOnce(stop, changed, round);
  // Two in a row without any answer from a watch are a failure; otherwise the loop would repeat
  // forever without a log line.
  if (round.status.code() == absl::StatusCode::kOutOfRange &&
      !std::exchange(is_listing_again_, true)) {
    round.status = absl::OkStatus();
    round.lists_again = true;
  }
  return round;
}

Status ApiMirror::FollowOnce(const std::stop_token& stop, const std::function<void()>& changed,
                             ApiRound& round) {
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<ApiConnection> connection,
                          ApiConnection::Open(server_, files_, stop));
  round.was_allowed = has_listed_;
  PODGPU_ASSIGN_OR_RETURN(const std::string path, PathOf(*connection, round));
  if (version_.empty()) {
    PODGPU_RETURN_IF_ERROR(collection_ == ApiCollection::kConfigMap
                               ? GetConfigMap(*connection, path, round)
                               : List(*connection, path, round));
    has_listed_ = true;
    changed();
  }
  round.was_allowed = has_watched_;
  return Watch(*connection, path, changed, round);
}

// Returns the path of the collection; for slices it depends on the versions that the server
// supports.
StatusOr<std::string> ApiMirror::PathOf(ApiConnection& connection, ApiRound& round) {
  if (scope_) {
    const bool is_slices = collection_ == ApiCollection::kEndpointSlices;
    return absl::StrFormat("%s%s/%s", is_slices ? "/apis/discovery.k8s.io/v1" : "/api/v1",
                           scope_->name_space.empty() ? "" : "/namespaces/" + scope_->name_space,
                           what());
  }
  if (collection_ == ApiCollection::kPods || collection_ == ApiCollection::kWholePods) {
    return std::string(kPodsPath);
  }
  if (collection_ == ApiCollection::kConfigMap) {
    return absl::StrFormat("/api/v1/namespaces/%s/configmaps", config_map_.name_space);
  }
  const Status asked = Ask(connection, std::string(kResourceGroup), round);
  if (asked.code() == absl::StatusCode::kNotFound) {
    return absl::UnimplementedError(
        "this cluster has no resource.k8s.io: Kubernetes 1.32 or newer with dynamic resource "
        "allocation is needed");
  }
  PODGPU_RETURN_IF_ERROR(asked);
  PODGPU_ASSIGN_OR_RETURN(const std::string body,
                          connection.ReadAll(kMaxFailureBytes, kListPatience));
  PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string> served, ParseApiVersions(body));
  for (const std::string_view version : kSliceVersions) {
    if (std::ranges::find(served, version) != served.end()) {
      return absl::StrFormat("%s/%s/resourceslices", kResourceGroup, version);
    }
  }
  return absl::UnimplementedError(
      "this cluster serves resource.k8s.io in none of v1, v1beta2, v1beta1");
}

// Sends a request and reads the head. Any status except 200 is a failure with the server's message.
Status ApiMirror::Ask(ApiConnection& connection, const std::string& target, ApiRound& round) {
  ++requests_;
  const bool watches = target.find("watch=1") != std::string::npos;
  const StatusOr<ApiHead> head =
      connection.Get(target, AcceptFor(collection_, watches ? kMetadataOf : kMetadataListOf));
  if (!head.ok()) {
    return head.status();
  }
  if (head->status == 200) {
    return absl::OkStatus();
  }
  round.retry_after = head->retry_after;
  const StatusOr<std::string> body = connection.ReadAll(kMaxFailureBytes, kListPatience);
  return Refused(head->status,
                 absl::StrFormat("%s %s",
                                 watches                                    ? "watch"
                                 : collection_ == ApiCollection::kConfigMap ? "get"
                                                                            : "list",
                                 what()),
                 body.ok() ? ParseApiFailure(*body) : ApiFailure(), RightsWanted());
}

Status ApiMirror::GetConfigMap(ApiConnection& connection, const std::string& path,
                               ApiRound& round) {
  PODGPU_RETURN_IF_ERROR(Ask(connection, path + "/" + config_map_.name, round));
  PODGPU_ASSIGN_OR_RETURN(const std::string body,
                          connection.ReadAll(kMaxEventBytes, kListPatience));
  PODGPU_ASSIGN_OR_RETURN(ApiObject object, ParseApiObject(body));
  version_ = object.resource_version;
  objects_.clear();
  objects_.emplace(KeyOf(object), std::move(object));
  ++revision_;
  return absl::OkStatus();
}

// Replaces the copy in one step after the last page. This node's objects come from the server's
// cache ("resourceVersion=0") in one answer, because the server ignores the limit there. The
// objects of a scope, perhaps the whole cluster's, come page by page: without a version the server
// respects the limit.
Status ApiMirror::List(ApiConnection& connection, const std::string& path, ApiRound& round) {
  ApiObjects listed;
  if (Status status = ReadPages(connection, path, round, listed); !status.ok()) {
    listed.merge(objects_);  // A failed list must not lose objects.
    objects_ = std::move(listed);
    return status;
  }
  if (observer_) {
    for (const auto& [key, object] : objects_) {  // Only the objects that the list did not contain.
      if (!listed.contains(key)) {
        observer_(key, nullptr);
      }
    }
  }
  objects_ = std::move(listed);
  ++revision_;
  if (objects_.size() >= kManyObjects) {
    ReturnFreeMemory();  // Frees the memory of the parser and of the previous copy.
  }
  return absl::OkStatus();
}

Status ApiMirror::ReadPages(ApiConnection& connection, const std::string& path, ApiRound& round,
                            ApiObjects& listed) {
  ApiListHead head;
  const std::string first_page = scope_ ? "" : "&resourceVersion=0";
  do {
    const std::string target = absl::StrFormat(
        "%s?%slimit=%d%s", path, Selector(), kPageSize,
        head.next_page.empty() ? first_page : "&continue=" + PercentEncode(head.next_page));
    PODGPU_RETURN_IF_ERROR(Ask(connection, target, round));
    PODGPU_ASSIGN_OR_RETURN(head, ReadPage(connection, listed));
  } while (!head.next_page.empty());
  if (head.resource_version.empty()) {
    return absl::DataLossError("the API server's list has no version");
  }
  version_ = std::move(head.resource_version);
  return absl::OkStatus();
}

StatusOr<ApiListHead> ApiMirror::ReadPage(ApiConnection& connection, ApiObjects& listed) {
  ListStream stream(kMaxEventBytes);
  for (size_t received = 0; received < kMaxListBytes;) {
    PODGPU_ASSIGN_OR_RETURN(const std::string_view bytes, connection.Read(kListPatience));
    if (bytes.empty()) {
      PODGPU_ASSIGN_OR_RETURN(const std::string_view surrounding, stream.Surrounding());
      return ParseApiListHead(surrounding);
    }
    received += bytes.size();
    stream.Append(bytes);
    while (true) {
      PODGPU_ASSIGN_OR_RETURN(const std::optional<std::string_view> text, stream.Next());
      if (!text) {
        break;
      }
      PODGPU_ASSIGN_OR_RETURN(ApiObject object, ParseApiItem(*text));
      TakeListed(Kept(std::move(object)), listed);
      if (listed.size() > MostObjects()) {
        return absl::ResourceExhaustedError(
            absl::StrFormat("the API server lists more than %d %s for one %s", MostObjects(),
                            what(), scope_ ? "selector" : "node"));
      }
    }
  }
  return absl::ResourceExhaustedError(
      absl::StrFormat("an answer of the API server is larger than %d bytes", kMaxListBytes));
}

// An unchanged object is moved to the new copy, so a list of ten thousand is never in memory twice.
void ApiMirror::TakeListed(ApiObject object, ApiObjects& listed) {
  std::string key = KeyOf(object);
  ApiObjects::node_type known = objects_.extract(key);
  if (!known.empty() && known.mapped().SaysTheSame(object)) {
    listed.insert(std::move(known));
  } else {
    const auto [place, is_new] = listed.insert_or_assign(std::move(key), std::move(object));
    if (observer_) {
      observer_(place->first, &place->second);
    }
  }
}

// For a pod that is searched for as a node, keeps only addresses, ports and whether it has ended:
// ten thousand of them stay small.  For the pods of the whole cluster, keeps the labels; for a
// node, the labels of the scope.
ApiObject ApiMirror::Kept(ApiObject object) const {
  if (collection_ == ApiCollection::kNodes) {
    std::erase_if(object.labels, [this](const auto& label) {
      return std::ranges::find(scope_->kept_labels, label.first) == scope_->kept_labels.end();
    });
    object.labels.shrink_to_fit();
    return object;
  }
  if (scope_ && collection_ == ApiCollection::kPods) {
    ApiObject kept;
    kept.name_space = std::move(object.name_space);
    kept.name = std::move(object.name);
    kept.labels = std::move(object.labels);
    return kept;
  }
  if (!scope_ || collection_ != ApiCollection::kWholePods) {
    return object;
  }
  ApiObject kept;
  kept.name_space = std::move(object.name_space);
  kept.name = std::move(object.name);
  kept.has_ended = object.has_ended;
  kept.node = std::move(object.node);
  kept.ip = std::move(object.ip);
  for (ApiContainer& container : object.containers) {
    if (!container.ports.empty()) {
      kept.containers.emplace_back();
      kept.containers.back().ports = std::move(container.ports);
    }
  }
  kept.containers.shrink_to_fit();
  return kept;
}

Status ApiMirror::Watch(ApiConnection& connection, const std::string& path,
                        const std::function<void()>& changed, ApiRound& round) {
  const std::string target =
      absl::StrFormat("%s?watch=1&%sresourceVersion=%s&allowWatchBookmarks=true&timeoutSeconds=%d",
                      path, Selector(), PercentEncode(version_), kWatchSeconds);
  if (Status asked = Ask(connection, target, round); !asked.ok()) {
    if (asked.code() == absl::StatusCode::kOutOfRange || collection_ == ApiCollection::kConfigMap) {
      ForgetVersion();
    }
    return asked;
  }
  has_watched_ = true;
  changed();
  JsonStream stream(kMaxEventBytes);
  while (true) {
    const StatusOr<std::string_view> bytes = connection.Read(server_.watch_patience);
    if (bytes.status().code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "the watch of %s is silent: neither event nor bookmark for %d s; starting a new one",
          what(), std::chrono::round<std::chrono::seconds>(server_.watch_patience).count()));
    }
    PODGPU_RETURN_IF_ERROR(bytes.status());
    if (bytes->empty()) {
      is_listing_again_ = false;
      return absl::OkStatus();  // The next watch repeats an incomplete event.
    }
    stream.Append(*bytes);
    const uint64_t before = revision_;
    Status applied = ApplyAll(stream);
    if (revision_ != before) {
      changed();
    }
    if (!applied.ok()) {
      ForgetVersion();
      return applied;
    }
  }
}

Status ApiMirror::ApplyAll(JsonStream& stream) {
  while (true) {
    PODGPU_ASSIGN_OR_RETURN(const std::optional<std::string_view> text, stream.Next());
    if (!text) {
      return absl::OkStatus();
    }
    PODGPU_ASSIGN_OR_RETURN(ApiEvent event, ParseApiEvent(*text));
    PODGPU_RETURN_IF_ERROR(Apply(std::move(event)));
  }
}

Status ApiMirror::Apply(ApiEvent event) {
  if (event.kind == ApiEvent::Kind::kError) {
    return Refused(event.failure.code, absl::StrFormat("watch %s", what()), event.failure,
                   RightsWanted());
  }
  version_ = event.object.resource_version;
  is_listing_again_ = false;
  if (event.kind == ApiEvent::Kind::kBookmark) {
    return absl::OkStatus();
  }
  event.object = Kept(std::move(event.object));
  const std::string key = KeyOf(event.object);
  const auto known = objects_.find(key);
  if (event.kind == ApiEvent::Kind::kDelete) {
    const size_t erased = objects_.erase(key);
    revision_ += erased;
    if (erased > 0 && observer_) {
      observer_(key, nullptr);
    }
    return absl::OkStatus();
  }
  if (known == objects_.end() && objects_.size() == MostObjects()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "more than %d %s %s", MostObjects(), what(), scope_ ? "for one selector" : "on one node"));
  }
  const bool news = known == objects_.end() || !known->second.SaysTheSame(event.object);
  revision_ += news ? 1 : 0;
  const auto [place, is_new] = objects_.insert_or_assign(key, std::move(event.object));
  if (news && observer_) {
    observer_(key, &place->second);
  }
  return absl::OkStatus();
}

}  // namespace podgpu
