#include "sim/kube/api_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu::sim {
namespace {

namespace json = boost::json;

constexpr auto kResources = std::to_array<ApiResource>({
    {"/api/v1/configmaps", "ConfigMap", "v1"},
    {"/api/v1/nodes", "Node", "v1"},
    {"/api/v1/pods", "Pod", "v1"},
    {"/apis/apiregistration.k8s.io/v1/apiservices", "APIService", "apiregistration.k8s.io/v1"},
    {"/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview", "authentication.k8s.io/v1"},
    {"/apis/authorization.k8s.io/v1/subjectaccessreviews", "SubjectAccessReview",
     "authorization.k8s.io/v1"},
    {"/apis/discovery.k8s.io/v1/endpointslices", "EndpointSlice", "discovery.k8s.io/v1"},
    {"/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice", "resource.k8s.io/v1"},
    {"/apis/resource.k8s.io/v1beta1/resourceslices", "ResourceSlice", "resource.k8s.io/v1beta1"},
    {"/apis/resource.k8s.io/v1beta2/resourceslices", "ResourceSlice", "resource.k8s.io/v1beta2"},
});

constexpr std::string_view kMetadataKind =
    R"("kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)";

// Decodes a query: "%2F" is "/", "+" a blank.
std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const begin = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// The value of a header of a request; empty when the header is missing.
std::string Header(const std::string& head, std::string_view name) {
  const size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) {
    return {};
  }
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find('\r', begin) - begin);
}

// Splits the requirements of a selector at commas outside parentheses.
std::vector<std::string> Requirements(std::string_view selector) {
  std::vector<std::string> parts(1);
  bool is_inside = false;
  for (const char c : selector) {
    is_inside = c == '(' || (is_inside && c != ')');
    if (c == ',' && !is_inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::erase(parts, "");
  return parts;
}

// Whether `value`, null where there is none, is one of "a,b".
bool IsOneOf(const std::string* value, std::string_view listed) {
  return value != nullptr && std::ranges::any_of(Split(listed, ','), [&](std::string_view one) {
           return Trim(one) == *value;
         });
}

// "key=value", "key!=value", "key in (a,b)", "key notin (a,b)", "key", "!key".
bool Meets(const std::string& requirement, const std::map<std::string, std::string>& values,
           bool is_strict) {
  struct Form {
    std::string_view mark, end;
    bool wants;
  };
  static constexpr auto kForms = std::to_array<Form>({{" notin (", ")", false},
                                                      {" in (", ")", true},
                                                      {"!=", "", false},
                                                      {"==", "", true},
                                                      {"=", "", true}});
  const auto find = [&](std::string_view key) {
    const auto found = values.find(std::string(Trim(key)));
    return found == values.end() ? nullptr : &found->second;
  };
  for (const Form& form : kForms) {
    const size_t at = requirement.find(form.mark);
    if (at == std::string::npos) {
      continue;
    }
    const std::string_view rest = std::string_view(requirement).substr(at + form.mark.size());
    const std::string* const value = find(std::string_view(requirement).substr(0, at));
    return (value == nullptr && !is_strict) ||
           IsOneOf(value, rest.substr(0, rest.size() - form.end.size())) == form.wants;
  }
  return requirement.starts_with('!') ? find(std::string_view(requirement).substr(1)) == nullptr
                                      : find(requirement) != nullptr;
}

void TakeText(const json::value& object, std::string_view parent, std::string_view name,
              std::map<std::string, std::string>& fields) {
  boost::system::error_code error;
  const std::string pointer = "/" + std::string(parent) + "/" + std::string(name);
  const json::value* const found = object.find_pointer({pointer.data(), pointer.size()}, error);
  if (!error && found != nullptr && found->is_string()) {
    fields[std::string(parent) + "." + std::string(name)] = found->get_string().c_str();
  }
}

}  // namespace

const ApiResource* FindApiResource(std::string_view collection) {
  const auto* const found = std::ranges::find(kResources, collection, &ApiResource::path);
  return found == kResources.end() ? nullptr : found;
}

ApiPath TakeApartApiPath(std::string_view path) {
  std::vector<std::string_view> parts = Split(path.substr(std::min<size_t>(1, path.size())), '/');
  const size_t group = path.starts_with("/apis/") ? 3 : 2;  // "apis", group, version.
  ApiPath taken;
  if (parts.size() > group + 2 && parts[group] == "namespaces") {
    taken.name_space = parts[group + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(group),
                parts.begin() + static_cast<std::ptrdiff_t>(group) + 2);
  }
  if (parts.size() == group + 2) {
    taken.name = parts.back();
    parts.pop_back();
  }
  for (const std::string_view part : parts) {
    taken.collection += "/" + std::string(part);
  }
  return taken;
}

ApiStored MakeApiStored(std::string metadata, std::string rest) {
  ApiStored stored;
  boost::system::error_code error;
  const json::value object = json::parse("{\"metadata\":{" + metadata + "}" + rest + "}", error);
  if (!error) {
    for (const auto& [parent, name] :
         std::to_array<std::pair<std::string_view, std::string_view>>({{"metadata", "name"},
                                                                       {"metadata", "namespace"},
                                                                       {"spec", "nodeName"},
                                                                       {"spec", "driver"},
                                                                       {"status", "phase"}})) {
      TakeText(object, parent, name, stored.fields);
    }
    const json::value* const labels = object.find_pointer("/metadata/labels", error);
    if (labels != nullptr && labels->is_object()) {
      for (const auto& [key, value] : labels->get_object()) {
        stored.labels[std::string(key)] = value.is_string() ? value.get_string().c_str() : "";
      }
    }
  }
  stored.metadata = std::move(metadata);
  stored.rest = std::move(rest);
  return stored;
}

ApiRequest::ApiRequest(const std::string& text)
    : ApiRequest(text.substr(0, text.find("\r\n\r\n") + 2),
                 text.substr(std::min(text.find("\r\n\r\n") + 4, text.size()))) {}

ApiRequest::ApiRequest(const std::string& head, std::string content)
    : method(head.substr(0, head.find(' '))),
      target(head.substr(method.size() + 1, head.find(' ', method.size() + 1) - method.size() - 1)),
      path(target.substr(0, target.find('?'))),
      authorization(Header(head, "Authorization")),
      content_type(Header(head, "Content-Type")),
      body(std::move(content)),
      asked(TakeApartApiPath(path)),
      metadata_alone(Header(head, "Accept").find("as=PartialObjectMetadata") != std::string::npos) {
}

std::string ApiRequest::Query(const std::string& name) const {
  for (const std::string_view part :
       Split(std::string_view(target).substr(std::min(target.find('?') + 1, target.size())), '&')) {
    if (part.starts_with(name + "=")) {
      return Decoded(part.substr(name.size() + 1));
    }
  }
  return {};
}

uint64_t ApiRequest::NumberIn(const std::string& name) const {
  return ParseDecimal(Query(name)).value_or(0);
}

bool ApiRequest::IsTrue(const std::string& name) const {
  const std::string value = Query(name);
  return value == "1" || value == "true";
}

bool ApiRequest::Selects(const std::string& key, const ApiStored& object) const {
  const std::string own_namespace = key.substr(0, std::min(key.find('/'), key.size()));
  if (!asked.name_space.empty() && own_namespace != asked.name_space) {
    return false;
  }
  return std::ranges::all_of(
             Requirements(Query("labelSelector")),
             [&](const std::string& one) { return Meets(one, object.labels, true); }) &&
         std::ranges::all_of(Requirements(Query("fieldSelector")), [&](const std::string& one) {
           return Meets(one, object.fields, false);
         });
}

std::string ApiRequest::TextOf(const ApiStored& object, bool is_item) const {
  const ApiResource* const resource = FindApiResource(asked.collection);
  std::string kind;
  if (metadata_alone) {
    kind = kMetadataKind;
  } else if (!is_item && resource != nullptr) {
    kind = "\"kind\":\"" + std::string(resource->kind) + "\",\"apiVersion\":\"" +
           std::string(resource->version) + "\",";
  }
  return "{" + kind + "\"metadata\":{" + object.metadata + ",\"resourceVersion\":\"" +
         std::to_string(object.version) + "\"}" + (metadata_alone ? "" : object.rest) + "}";
}

std::string ApiRequest::ListText(const std::string& items, const std::string& version,
                                 const std::string& next) const {
  const ApiResource* const resource = FindApiResource(asked.collection);
  std::string kind = "PartialObjectMetadataList";
  std::string api = "meta.k8s.io/v1";
  if (!metadata_alone && resource != nullptr) {
    kind = std::string(resource->kind) + "List";
    api = resource->version;
  }
  return R"({"kind":")" + kind + R"(","apiVersion":")" + api +
         R"(","metadata":{"resourceVersion":")" + version + "\"" +
         (next.empty() ? "" : R"(,"continue":")" + next + "\"") + "},\"items\":[" + items + "]}";
}

std::string_view ApiRequest::Verb() const {
  if (method != "GET") {
    return method == "POST" ? "create" : method == "PATCH" ? "patch" : "delete";
  }
  return IsTrue("watch") ? "watch" : asked.name.empty() ? "list" : "get";
}

std::string ApiRequest::Resource() const {
  return asked.collection.substr(asked.collection.rfind('/') + 1);
}

std::string ApiRequest::Group() const {
  const std::vector<std::string_view> parts = Split(asked.collection, '/');
  return parts.size() > 2 && parts[1] == "apis" ? std::string(parts[2]) : std::string();
}

bool Allows(const ApiGrant& grant, const ApiRequest& request) {
  const std::string resource = request.Resource();
  const bool is_kind =
      grant.group == request.Group() && grant.resource == resource && grant.verb == request.Verb();
  const bool is_place = grant.name_space.empty() || grant.name_space == request.asked.name_space;
  if (!is_kind || !is_place || grant.names.empty()) {
    return is_kind && is_place;
  }
  constexpr std::string_view kByName = "metadata.name=";
  const std::string selector = request.Query("fieldSelector");
  const std::string name = !request.asked.name.empty()     ? request.asked.name
                           : selector.starts_with(kByName) ? selector.substr(kByName.size())
                                                           : std::string();
  return std::ranges::count(grant.names, name) > 0;
}

std::string ForbiddenSentence(const ApiRequest& request) {
  const std::string resource = request.Resource();
  const std::string subject = request.asked.name.empty() ? "" : " \"" + request.asked.name + "\"";
  return resource + subject + " is forbidden: User \"system:serviceaccount:gpu:podgpu\" cannot " +
         std::string(request.Verb()) + " resource \"" + resource + "\" in API group \"" +
         request.Group() + "\" " +
         (request.asked.name_space.empty()
              ? "at the cluster scope"
              : "in the namespace \"" + request.asked.name_space + "\"");
}

std::string ApiStatusObject(int code, std::string_view reason, std::string_view message) {
  const std::string text = json::serialize(json::string(message.data(), message.size()));
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)" +
         text + ",\"reason\":\"" + std::string(reason) + "\",\"code\":" + std::to_string(code) +
         "}";
}

std::string ApiAnswer(int status, const std::string& body, const std::string& headers,
                      std::string_view content_type) {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: " + std::string(content_type) +
         "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ApiChunk(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string size;
  for (size_t rest = bytes.size(); rest > 0; rest /= 16) {
    size.insert(size.begin(), kDigits[rest % 16]);
  }
  return (size.empty() ? "0" : size) + "\r\n" + bytes + "\r\n";
}

}  // namespace podgpu::sim
