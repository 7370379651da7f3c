// What a client asks the simulated API server for, and the objects that it may see.
//
// Reads targets as the real server does: a collection of the whole cluster or of a namespace, one
// object of it, selectors of labels and fields, "watch=1" and "watch=true".  Objects are texts; of
// each only labels and the fields that can be selected by are known.  Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace podgpu::sim {

// A kind of object that is served.
struct ApiResource {
  std::string_view path;  // Of the collection of the whole cluster.
  std::string_view kind, version;
};
// Null where there is no such collection.
const ApiResource* FindApiResource(std::string_view collection);

// A path taken apart: "/api/v1/namespaces/ml/pods/a" is the object ml/a of "/api/v1/pods".
struct ApiPath {
  std::string collection;
  std::string name_space;  // Empty: any.
  std::string name;        // Empty: all.
};
ApiPath TakeApartApiPath(std::string_view path);

// An object as it is kept.
struct ApiStored {
  // What stands in metadata but for the version, and what follows metadata, beginning with a comma.
  std::string metadata, rest;
  uint64_t version = 0;  // Of its last change.
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> fields = {};  // "spec.nodeName"
};
// Reads labels and fields from the texts.
ApiStored MakeApiStored(std::string metadata, std::string rest);

// A request.
struct ApiRequest {
  explicit ApiRequest(const std::string& head);

  // The value of `name` in the query, decoded; empty where it is not there.
  std::string Query(const std::string& name) const;
  // 0 where it is no number or not there.
  uint64_t NumberIn(const std::string& name) const;
  bool IsTrue(const std::string& name) const;
  // Whether the object, whose key is "namespace/name", is asked for.  A field that the object's
  // text does not have is not looked at, so that tests need not write it.
  bool Selects(const std::string& key, const ApiStored& object) const;
  // The object as it is answered: metadata alone, where the client wants no more.  In a list of
  // whole objects it says no kind.
  std::string TextOf(const ApiStored& object, bool is_item) const;

  // A list of them; `next` is the token of the page that follows, empty on the last.
  std::string ListText(const std::string& items, const std::string& version,
                       const std::string& next) const;

  std::string method, target, path, authorization;
  ApiPath asked;
  bool metadata_alone = false;
  uint64_t end_round = 0, cut_round = 0;  // When it was answered.
};

// "pods is forbidden: User ... cannot list resource ...", as the real server says it.
std::string ForbiddenSentence(const ApiRequest& request);

// A Status object.
std::string ApiStatusObject(int code, std::string_view reason, std::string_view message);
// A whole answer.
std::string ApiAnswer(int status, const std::string& body, const std::string& headers = "",
                      std::string_view content_type = "application/json");
// A chunk of one that has no end yet; an empty one ends it.
std::string ApiChunk(const std::string& bytes);

}  // namespace podgpu::sim
