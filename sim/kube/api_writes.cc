// What the simulated API server lets tests and clients write: users, permissions, the objects of an
// extension server, and patches.
#include <utility>

#include "sim/kube/api_server.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kMapsPath = "/api/v1/configmaps";
constexpr std::string_view kMergePatch = "application/merge-patch+json";

std::string Named(std::string_view name) { return "\"name\":\"" + std::string(name) + "\""; }

std::string Conflict(const std::string& name) {
  return ApiAnswer(
      409, ApiStatusObject(
               409, "Conflict",
               "Operation cannot be fulfilled on apiservices.apiregistration.k8s.io \"" + name +
                   "\": the object has been modified; please apply your changes to the "
                   "latest version and try again"));
}

}  // namespace

void FakeApi::PutTrust(const ApiTrust& trust) {
  Put(kMapsPath, "kube-system/" + std::string(kTrustName),
      Named(kTrustName) + R"(,"namespace":"kube-system")", TrustText(trust));
}

void FakeApi::PutApiService(const std::string& name, const std::string& service_namespace,
                            const std::string& service_name) {
  const size_t dot = name.find('.');
  Put(kApiServicesPath, name, Named(name),
      R"(,"spec":{"group":")" + name.substr(dot + 1) + R"(","version":")" + name.substr(0, dot) +
          R"(","groupPriorityMinimum":100,"versionPriority":100,"service":{"namespace":")" +
          service_namespace + R"(","name":")" + service_name + R"(","port":443}})");
}

std::string FakeApi::Text(std::string_view collection, const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto objects = store_.find(collection);
  if (objects == store_.end() || !objects->second.contains(key)) {
    return {};
  }
  const ApiRequest request("GET " + std::string(collection) + "/" + key + " HTTP/1.1\r\n\r\n");
  return request.TextOf(*objects->second.at(key), false);
}

void FakeApi::AcceptUser(const std::string& token, ApiUser user) {
  const std::scoped_lock lock(mutex_);
  users_[token] = std::move(user);
}

void FakeApi::Permit(std::vector<ApiPermission> permissions) {
  const std::scoped_lock lock(mutex_);
  permissions_ = std::move(permissions);
}

void FakeApi::DisturbPatches(int count) {
  const std::scoped_lock lock(mutex_);
  disturbed_patches_ = count;
}

// With the lock.
std::string FakeApi::AnswerPatch(const ApiRequest& request) {
  if (request.content_type != kMergePatch) {
    return ApiAnswer(415, ApiStatusObject(415, "UnsupportedMediaType",
                                          "the body of the request was in an unknown format - "
                                          "accepted media types include: " +
                                              std::string(kMergePatch)));
  }
  const ApiPath& asked = request.asked;
  const std::string key =
      asked.name_space.empty() ? asked.name : asked.name_space + "/" + asked.name;
  const auto& objects = store_[asked.collection];
  const auto found = objects.find(key);
  if (found == objects.end()) {
    return ApiAnswer(404, ApiStatusObject(404, "NotFound", "\"" + asked.name + "\" is not found"));
  }
  if (disturbed_patches_ > 0) {
    --disturbed_patches_;
    ApiStored same = *found->second;
    same.version = ++version_;
    Change(asked.collection, key, std::make_shared<const ApiStored>(std::move(same)));
  }
  const Object before = objects.at(key);
  const std::string since = VersionInPatch(request.body);
  if (!since.empty() && since != std::to_string(before->version)) {
    return Conflict(asked.name);
  }
  std::optional<ApiStored> next = Patched(*before, request.body);
  if (!next) {
    return ApiAnswer(400, ApiStatusObject(400, "BadRequest", "the patch is not an object in JSON"));
  }
  if (next->metadata == before->metadata && next->rest == before->rest) {
    return ApiAnswer(200, request.TextOf(*before, false));  // As a real server: no new version.
  }
  next->version = ++version_;
  const Object now = std::make_shared<const ApiStored>(*std::move(next));
  Change(asked.collection, key, now);
  return ApiAnswer(200, request.TextOf(*now, false));
}

}  // namespace podgpu::sim
