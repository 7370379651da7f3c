// The requests to the simulated API server, and the objects that they select.
//
// Parses targets as the real server does: a collection of the whole cluster or of a namespace, one
// object of it, selectors of labels and fields, "watch=1" and "watch=true".  Objects are texts;
// only their labels and selectable fields are parsed.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::sim {

// A kind of object that is served.
struct ApiResource {
  std::string_view path;  // Of the collection of the whole cluster.
  std::string_view kind, version;
};
// Null when there is no such collection.
const ApiResource* FindApiResource(std::string_view collection);

// A parsed path: "/api/v1/namespaces/ml/pods/a" is the object ml/a of "/api/v1/pods".
struct ApiPath {
  std::string collection;
  std::string name_space;  // Empty: any.
  std::string name;        // Empty: all.
};
ApiPath TakeApartApiPath(std::string_view path);

// A stored object.
struct ApiStored {
  // The text of metadata without the version, and the text after metadata, which begins with a
  // comma.
  std::string metadata, rest;
  uint64_t version = 0;  // Of its last change.
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> fields = {};  // "spec.nodeName"
};
// Reads labels and fields from the texts.
ApiStored MakeApiStored(std::string metadata, std::string rest);

// A request.
struct ApiRequest {
  // Of the head, with the blank line after it, and the body.
  explicit ApiRequest(const std::string& text);

  // The decoded value of `name` in the query; empty when it is missing.
  std::string Query(const std::string& name) const;
  // "get", "list", "watch", "create" or "patch"; the name and the API group of the resource, "" for
  // the core group.
  std::string_view Verb() const;
  std::string Resource() const;
  std::string Group() const;
  // 0 when it is missing or not a number.
  uint64_t NumberIn(const std::string& name) const;
  bool IsTrue(const std::string& name) const;
  // Whether the request selects the object with the key "namespace/name".  A field selector is
  // ignored when the object's text lacks the field, so tests need not write it.
  bool Selects(const std::string& key, const ApiStored& object) const;
  // The object in an answer: metadata alone if the client asked for that.  In a list of whole
  // objects it has no kind, as from the real server.
  std::string TextOf(const ApiStored& object, bool is_item) const;

  // A list of objects; `next` is the token of the following page, empty on the last page.
  std::string ListText(const std::string& items, const std::string& version,
                       const std::string& next) const;

  std::string method, target, path, authorization, content_type, body;
  ApiPath asked;
  bool metadata_alone = false;
  uint64_t end_round = 0, cut_round = 0;  // When it was answered.

 private:
  ApiRequest(const std::string& head, std::string content);
};

// A right of the token's account, as in a Role. An empty namespace means the whole cluster, empty
// names mean every object.
struct ApiGrant {
  std::string name_space, group, resource, verb;
  std::vector<std::string> names = {};
};
// Whether the grant allows the request. As in a real cluster, a list or watch of named objects is
// allowed only if its field selector names one of them.
bool Allows(const ApiGrant& grant, const ApiRequest& request);

// "pods is forbidden: User ... cannot list resource ...", in the words of the real server.
std::string ForbiddenSentence(const ApiRequest& request);

// A Status object.
std::string ApiStatusObject(int code, std::string_view reason, std::string_view message);
// A complete HTTP answer.
std::string ApiAnswer(int status, const std::string& body, const std::string& headers = "",
                      std::string_view content_type = "application/json");
// A chunk of an answer that continues; an empty chunk ends the answer.
std::string ApiChunk(const std::string& bytes);

}  // namespace podgpu::sim
