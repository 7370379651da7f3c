#include "kube/api_object.h"

#include <tuple>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

// An object of the API is 1.5 MiB at most; its tree is taken from memory that is given back at
// once.
class Document {
 public:
  explicit Document(std::string_view text) {
    boost::system::error_code error;
    root_ = json::parse({text.data(), text.size()}, error, &memory_);
    failed_ = error.failed() || !root_.is_object();
  }
  // Null when the text is no JSON object.
  const json::object* root() const { return failed_ ? nullptr : &root_.get_object(); }

 private:
  json::monotonic_resource memory_;
  json::value root_;
  bool failed_ = false;
};

Status NoAnswer(std::string_view what) {
  return absl::DataLossError(absl::StrFormat("what came is no %s", what));
}

const json::value* Member(const json::object* object, std::string_view name) {
  return object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
}

const json::object* ObjectIn(const json::object* object, std::string_view name) {
  const json::value* value = Member(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* ArrayIn(const json::object* object, std::string_view name) {
  const json::value* value = Member(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

std::string TextOf(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : CleanUtf8({text->data(), text->size()});
}

std::string TextIn(const json::object* object, std::string_view name) {
  return TextOf(Member(object, name));
}

int64_t NumberIn(const json::object* object, std::string_view name) {
  const json::value* value = Member(object, name);
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? 0 : *number;
}

// An attribute by its bare name or by that with the driver's domain before it.
std::string Attribute(const json::object* attributes, const std::string& driver,
                      std::string_view name) {
  const json::object* bare = ObjectIn(attributes, name);
  return TextIn(bare != nullptr ? bare : ObjectIn(attributes, driver + "/" + std::string(name)),
                "string");
}

SliceDevice DeviceOf(const json::object* device, const std::string& driver) {
  const json::object* basic = ObjectIn(device, "basic");  // v1beta1
  const json::object* attributes = ObjectIn(basic != nullptr ? basic : device, "attributes");
  return {.name = TextIn(device, "name"),
          .type = Attribute(attributes, driver, "type"),
          .uuid = Attribute(attributes, driver, "uuid"),
          .parent_uuid = Attribute(attributes, driver, "parentUUID"),
          .profile = Attribute(attributes, driver, "profile")};
}

void ReadSlice(const json::object* spec, ApiObject& object) {
  object.driver = TextIn(spec, "driver");
  const json::object* pool = ObjectIn(spec, "pool");
  object.pool = TextIn(pool, "name");
  object.pool_generation = NumberIn(pool, "generation");
  if (const json::array* devices = ArrayIn(spec, "devices")) {
    for (const json::value& device : *devices) {
      object.devices.push_back(DeviceOf(device.if_object(), object.driver));
    }
  }
}

ApiObject ObjectOf(const json::object* from) {
  const json::object* metadata = ObjectIn(from, "metadata");
  ApiObject object;
  object.name_space = TextIn(metadata, "namespace");
  object.name = TextIn(metadata, "name");
  object.uid = TextIn(metadata, "uid");
  object.resource_version = TextIn(metadata, "resourceVersion");
  if (const json::object* labels = ObjectIn(metadata, "labels")) {
    for (const json::key_value_pair& label : *labels) {
      object.labels.emplace_back(CleanUtf8({label.key().data(), label.key().size()}),
                                 TextOf(&label.value()));
    }
  }
  if (const json::value* metrics = Member(ObjectIn(from, "data"), "metrics")) {
    object.metrics = TextOf(metrics);
  }
  const json::object* spec = ObjectIn(from, "spec");
  if (ObjectIn(spec, "pool") != nullptr) {
    ReadSlice(spec, object);
  }
  return object;
}

ApiFailure FailureOf(const json::object* status) {
  return {.code = static_cast<int>(NumberIn(status, "code") % 1000),
          .reason = TextIn(status, "reason"),
          .message = TextIn(status, "message")};
}

}  // namespace

bool ApiObject::SaysTheSame(const ApiObject& other) const {
  const auto rest = [](const ApiObject& object) {
    return std::tie(object.name_space, object.name, object.uid, object.labels, object.driver,
                    object.pool, object.pool_generation, object.devices, object.metrics);
  };
  return rest(*this) == rest(other);
}

StatusOr<ApiList> ParseApiList(std::string_view text) {
  const Document document(text);
  const json::array* items = ArrayIn(document.root(), "items");
  const json::object* metadata = ObjectIn(document.root(), "metadata");
  const json::value* none = Member(document.root(), "items");
  if (metadata == nullptr || (items == nullptr && !(none != nullptr && none->is_null()))) {
    return NoAnswer("list of the Kubernetes API");
  }
  ApiList list{.resource_version = TextIn(metadata, "resourceVersion"),
               .next_page = TextIn(metadata, "continue"),
               .items = {}};
  if (items != nullptr) {
    list.items.reserve(items->size());
    for (const json::value& item : *items) {
      list.items.push_back(ObjectOf(item.if_object()));
    }
  }
  return list;
}

StatusOr<ApiEvent> ParseApiEvent(std::string_view text) {
  const Document document(text);
  const std::string type = TextIn(document.root(), "type");
  const json::object* object = ObjectIn(document.root(), "object");
  if (object == nullptr) {
    return NoAnswer("watch event");
  }
  ApiEvent event;
  if (type == "ERROR") {
    event.kind = ApiEvent::Kind::kError;
    event.failure = FailureOf(object);
    return event;
  }
  event.object = ObjectOf(object);
  if (event.object.resource_version.empty()) {
    return NoAnswer("watch event with a version");
  }
  if (type == "BOOKMARK") {
    return event;
  }
  if (event.object.name.empty() || (type != "ADDED" && type != "MODIFIED" && type != "DELETED")) {
    return NoAnswer("watch event that is known");
  }
  event.kind = type == "DELETED" ? ApiEvent::Kind::kDelete : ApiEvent::Kind::kPut;
  return event;
}

StatusOr<ApiObject> ParseApiObject(std::string_view text) {
  const Document document(text);
  ApiObject object = ObjectOf(document.root());
  if (object.name.empty() || object.resource_version.empty()) {
    return NoAnswer("object of the Kubernetes API");
  }
  return object;
}

ApiFailure ParseApiFailure(std::string_view text) {
  const Document document(text);
  return TextIn(document.root(), "kind") == "Status" ? FailureOf(document.root()) : ApiFailure();
}

StatusOr<std::vector<std::string>> ParseApiVersions(std::string_view text) {
  const Document document(text);
  const json::array* versions = ArrayIn(document.root(), "versions");
  if (versions == nullptr) {
    return NoAnswer("API group");
  }
  std::vector<std::string> names;
  for (const json::value& version : *versions) {
    names.push_back(TextIn(version.if_object(), "version"));
  }
  return names;
}

}  // namespace podgpu
