#include "metrics_api/access/reviews.h"

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

constexpr size_t kDeepestAnswer = 32;
constexpr size_t kMostListed = 1'024;
constexpr size_t kLongestReason = 512;

json::string_view JsonText(std::string_view text) { return {text.data(), text.size()}; }

json::array JsonList(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.emplace_back(JsonText(CleanUtf8(text)));
  }
  return list;
}

const json::object* ChildObject(const json::object& object, const char* key) {
  const json::value* const value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string ChildText(const json::object& object, const char* key) {
  const json::value* const value = object.if_contains(key);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : CleanUtf8({text->data(), text->size()});
}

bool ChildFlag(const json::object& object, const char* key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::vector<std::string> TextsOf(const json::value* value) {
  std::vector<std::string> texts;
  const json::array* const list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr || list->size() > kMostListed) {
    return texts;
  }
  for (const json::value& one : *list) {
    if (const json::string* const text = one.if_string()) {
      texts.push_back(CleanUtf8({text->data(), text->size()}));
    }
  }
  return texts;
}

Identity IdentityOf(const json::object& user) {
  Identity identity;
  identity.user = ChildText(user, "username");
  identity.uid = ChildText(user, "uid");
  identity.groups = TextsOf(user.if_contains("groups"));
  if (const json::object* const extra = ChildObject(user, "extra")) {
    for (const json::key_value_pair& entry : *extra) {
      identity.extra[CleanUtf8({entry.key().data(), entry.key().size()})] = TextsOf(&entry.value());
    }
  }
  return identity;
}

// Calls `read` with the status of an answer of this kind.
template <typename ReadStatus>
StatusOr<ReviewVerdict> ReadReview(std::string_view text, std::string_view kind, ReadStatus read) {
  json::parse_options options;
  options.max_depth = kDeepestAnswer;
  json::monotonic_resource memory;
  boost::system::error_code error;
  const json::value root = json::parse(JsonText(text), error, &memory, options);
  const json::object* const object = error ? nullptr : root.if_object();
  const json::object* const status = object == nullptr ? nullptr : ChildObject(*object, "status");
  if (status == nullptr || ChildText(*object, "kind") != kind) {
    return absl::DataLossError(
        absl::StrFormat("the answer of the API server is not a %s with a status", kind));
  }
  return read(*status);
}

std::string CutReason(std::string reason) {
  return reason.size() > kLongestReason ? CleanUtf8(reason.substr(0, kLongestReason))
                                        : std::move(reason);
}

json::object Attributes(const AccessQuestion& question) {
  json::object attributes = {{"namespace", question.name_space},
                             {"verb", question.verb},
                             {"group", question.group},
                             {"version", question.version},
                             {"resource", question.resource}};
  if (!question.subresource.empty()) {
    attributes["subresource"] = question.subresource;
  }
  if (!question.name.empty()) {
    attributes["name"] = question.name;
  }
  return attributes;
}

}  // namespace

std::string TokenReviewBody(std::string_view token) {
  return json::serialize(json::object{{"kind", "TokenReview"},
                                      {"apiVersion", "authentication.k8s.io/v1"},
                                      {"spec", {{"token", JsonText(CleanUtf8(token))}}}});
}

std::string AccessReviewBody(const Identity& identity, const AccessQuestion& question) {
  json::object spec = {{"user", JsonText(CleanUtf8(identity.user))}};
  if (!identity.uid.empty()) {
    spec["uid"] = JsonText(CleanUtf8(identity.uid));
  }
  spec["groups"] = JsonList(identity.groups);
  if (!identity.extra.empty()) {
    json::object& extra = spec["extra"].emplace_object();
    for (const auto& [key, values] : identity.extra) {
      extra[JsonText(CleanUtf8(key))] = JsonList(values);
    }
  }
  if (question.group.empty()) {
    spec["nonResourceAttributes"] = {{"path", question.path}, {"verb", question.verb}};
  } else {
    spec["resourceAttributes"] = Attributes(question);
  }
  return json::serialize(json::object{{"kind", "SubjectAccessReview"},
                                      {"apiVersion", "authorization.k8s.io/v1"},
                                      {"spec", std::move(spec)}});
}

std::string ForbiddenMessage(const Identity& identity, const AccessQuestion& question,
                             std::string_view reason) {
  const std::string user = Quoted(identity.user);
  std::string message;
  if (question.group.empty()) {
    message = absl::StrFormat("forbidden: User %s cannot %s path %s", user, question.verb,
                              Quoted(question.path));
  } else {
    const std::string resource =
        question.resource + (question.subresource.empty() ? "" : "/" + question.subresource);
    message = absl::StrFormat(
        "%s.%s%s is forbidden: User %s cannot %s resource %s in API group %s in the namespace %s",
        question.resource, question.group, question.name.empty() ? "" : " " + Quoted(question.name),
        user, question.verb, Quoted(resource), Quoted(question.group), Quoted(question.name_space));
  }
  return reason.empty() ? message : absl::StrFormat("%s: %s", message, reason);
}

StatusOr<ReviewVerdict> ReadTokenReview(std::string_view text) {
  return ReadReview(text, "TokenReview", [](const json::object& status) {
    ReviewVerdict verdict;
    const json::object* const user = ChildObject(status, "user");
    if (user != nullptr) {
      verdict.identity = IdentityOf(*user);
    }
    verdict.is_granted = ChildFlag(status, "authenticated") && !verdict.identity.user.empty();
    verdict.reason = CutReason(ChildText(status, "error"));
    return verdict;
  });
}

StatusOr<ReviewVerdict> ReadAccessReview(std::string_view text) {
  return ReadReview(text, "SubjectAccessReview", [](const json::object& status) {
    ReviewVerdict verdict;
    verdict.is_granted = ChildFlag(status, "allowed") && !ChildFlag(status, "denied");
    verdict.reason = CutReason(ChildText(status, "reason"));
    return verdict;
  });
}

}  // namespace podgpu
