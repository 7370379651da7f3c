#include "sim/kube/api_access.h"

#include <algorithm>

#include <boost/json.hpp>

namespace podgpu::sim {
namespace {

namespace json = boost::json;

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

std::optional<json::object> ParsedObject(const std::string& text) {
  boost::system::error_code error;
  json::value parsed = json::parse(text, error);
  return !error && parsed.is_object() ? std::optional(std::move(parsed.get_object()))
                                      : std::nullopt;
}

// The member of a map; null when there is none.
const json::value* Member(const json::object& object, std::string_view name) {
  const auto found = object.find({name.data(), name.size()});
  return found == object.end() ? nullptr : &found->value();
}

const json::object* MapAt(const json::object& object, std::string_view name) {
  const json::value* const found = Member(object, name);
  return found == nullptr ? nullptr : found->if_object();
}

std::string TextAt(const json::object& object, std::string_view name) {
  const json::value* const found = Member(object, name);
  return found != nullptr && found->is_string() ? std::string(View(found->get_string()))
                                                : std::string();
}

std::vector<std::string> TextsAt(const json::object& object, std::string_view name) {
  std::vector<std::string> texts;
  const json::value* const found = Member(object, name);
  if (found != nullptr && found->is_array()) {
    for (const json::value& one : found->get_array()) {
      if (one.is_string()) {
        texts.emplace_back(View(one.get_string()));
      }
    }
  }
  return texts;
}

std::string Refused(int code, std::string_view reason, std::string_view message) {
  return ApiAnswer(code, ApiStatusObject(code, reason, message));
}

// The object `kind` that was sent, with its status.
std::string Reviewed(const ApiRequest& request, const json::object& spec, json::object status) {
  const ApiResource* const resource = FindApiResource(request.asked.collection);
  json::object object;
  object["kind"] = json::string_view(resource->kind.data(), resource->kind.size());
  object["apiVersion"] = json::string_view(resource->version.data(), resource->version.size());
  object["metadata"] = json::object();
  object["spec"] = spec;
  object["status"] = std::move(status);
  return ApiAnswer(201, json::serialize(object));
}

// The spec of a review; the refusal when there is none.
struct Spec {
  std::optional<json::object> object;
  std::string refusal;
};
Spec SpecOf(const ApiRequest& request) {
  const std::optional<json::object> sent = ParsedObject(request.body);
  if (!sent) {
    return {std::nullopt, Refused(400, "BadRequest", "the body is not an object in JSON")};
  }
  const ApiResource* const resource = FindApiResource(request.asked.collection);
  if (TextAt(*sent, "kind") != resource->kind || TextAt(*sent, "apiVersion") != resource->version) {
    return {std::nullopt,
            Refused(400, "BadRequest", "the object has another kind or apiVersion than its path")};
  }
  const json::object* const spec = MapAt(*sent, "spec");
  return spec == nullptr ? Spec{std::nullopt, Refused(422, "Invalid", "spec: Required value")}
                         : Spec{*spec, ""};
}

bool IsAny(const std::string& wanted, const std::string& asked) {
  return wanted.empty() || wanted == asked;
}

bool IsSubject(const ApiPermission& permission, const json::object& spec) {
  const std::vector<std::string> groups = TextsAt(spec, "groups");
  return (!permission.user.empty() && permission.user == TextAt(spec, "user")) ||
         (!permission.group.empty() && std::ranges::count(groups, permission.group) > 0);
}

bool PermitsResource(const ApiPermission& permission, const json::object& resource) {
  return permission.path.empty() && IsAny(permission.name_space, TextAt(resource, "namespace")) &&
         IsAny(permission.api_group, TextAt(resource, "group")) &&
         IsAny(permission.resource, TextAt(resource, "resource")) &&
         IsAny(permission.verb, TextAt(resource, "verb"));
}

bool PermitsPath(const ApiPermission& permission, const json::object& asked) {
  const std::string path = TextAt(asked, "path");
  const std::string_view allowed = permission.path;
  return !allowed.empty() && IsAny(permission.verb, TextAt(asked, "verb")) &&
         (allowed.ends_with('*') ? path.starts_with(allowed.substr(0, allowed.size() - 1))
                                 : path == allowed);
}

// Keeps the order of the others.
void Remove(json::object& from, std::string_view name) {
  const auto found = from.find({name.data(), name.size()});
  if (found != from.end()) {
    from.stable_erase(found);
  }
}

void Merge(json::object& into, const json::object& patch) {
  for (const auto& [name, value] : patch) {
    if (value.is_null()) {
      Remove(into, {name.data(), name.size()});
    } else if (value.is_object()) {
      json::value& at = into[name];
      if (!at.is_object()) {
        at = json::object();
      }
      Merge(at.get_object(), value.get_object());
    } else {
      into[name] = value;
    }
  }
}

// The text between the braces.
std::string Inside(const json::object& object) {
  const std::string text = json::serialize(object);
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::string TrustText(const ApiTrust& trust) {
  json::array names;
  for (const std::string& name : trust.front_proxy_names) {
    names.emplace_back(name);
  }
  json::object data;
  data["client-ca-file"] = trust.client_ca;
  data["requestheader-client-ca-file"] = trust.front_proxy_ca;
  data["requestheader-allowed-names"] = json::serialize(names);
  data["requestheader-username-headers"] = R"(["X-Remote-User"])";
  data["requestheader-uid-headers"] = R"(["X-Remote-Uid"])";
  data["requestheader-group-headers"] = R"(["X-Remote-Group"])";
  data["requestheader-extra-headers-prefix"] = R"(["X-Remote-Extra-"])";
  return ",\"data\":" + json::serialize(data);
}

std::string AnswerTokenReview(const ApiRequest& request,
                              const std::map<std::string, ApiUser>& users) {
  Spec spec = SpecOf(request);
  if (!spec.object) {
    return spec.refusal;
  }
  const auto found = users.find(TextAt(*spec.object, "token"));
  json::object status;
  if (found == users.end()) {
    status["user"] = json::object();
    status["error"] = "[invalid bearer token, token lookup failed]";
  } else {
    json::array groups;
    for (const std::string& group : found->second.groups) {
      groups.emplace_back(group);
    }
    json::object user;
    user["username"] = found->second.name;
    user["uid"] = "uid-of-" + found->second.name;
    user["groups"] = std::move(groups);
    status["authenticated"] = true;
    status["user"] = std::move(user);
  }
  return Reviewed(request, *spec.object, std::move(status));
}

std::string AnswerAccessReview(const ApiRequest& request,
                               const std::vector<ApiPermission>& permissions) {
  Spec spec = SpecOf(request);
  if (!spec.object) {
    return spec.refusal;
  }
  const json::object* const resource = MapAt(*spec.object, "resourceAttributes");
  const json::object* const path = MapAt(*spec.object, "nonResourceAttributes");
  if ((resource == nullptr) == (path == nullptr)) {
    return Refused(422, "Invalid",
                   "spec.resourceAttributes: exactly one of nonResourceAttributes or "
                   "resourceAttributes must be specified");
  }
  if (TextAt(*spec.object, "user").empty() && TextsAt(*spec.object, "groups").empty()) {
    return Refused(422, "Invalid", "spec.user: at least one of user or group must be specified");
  }
  json::object status;
  status["allowed"] = std::ranges::any_of(permissions, [&](const ApiPermission& one) {
    return IsSubject(one, *spec.object) &&
           (path != nullptr ? PermitsPath(one, *path) : PermitsResource(one, *resource));
  });
  return Reviewed(request, *spec.object, std::move(status));
}

std::optional<ApiStored> Patched(const ApiStored& object, const std::string& patch) {
  const std::optional<json::object> changes = ParsedObject(patch);
  std::optional<json::object> whole =
      ParsedObject("{\"metadata\":{" + object.metadata + "}" + object.rest + "}");
  if (!changes || !whole) {
    return std::nullopt;
  }
  Merge(*whole, *changes);
  json::object metadata;
  if (const json::object* const at = MapAt(*whole, "metadata")) {
    metadata = *at;
  }
  Remove(metadata, "resourceVersion");
  for (const char* const name : {"metadata", "kind", "apiVersion"}) {
    Remove(*whole, name);
  }
  ApiStored next =
      MakeApiStored(Inside(metadata), whole->empty() ? std::string() : "," + Inside(*whole));
  next.version = object.version;
  return next;
}

std::string VersionInPatch(const std::string& patch) {
  const std::optional<json::object> changes = ParsedObject(patch);
  const json::object* const metadata = changes ? MapAt(*changes, "metadata") : nullptr;
  return metadata == nullptr ? std::string() : TextAt(*metadata, "resourceVersion");
}

}  // namespace podgpu::sim
