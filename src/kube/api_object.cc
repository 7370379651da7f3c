#include "kube/api_object.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>
#include <tuple>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

// A parsed object. An object of the API has at most 1.5 MiB; its tree uses memory that is freed at
// once.
class Document {
 public:
  explicit Document(std::string_view text) {
    boost::system::error_code error;
    root_ = json::parse({text.data(), text.size()}, error, &memory_);
    failed_ = error.failed() || !root_.is_object();
  }
  // Null when the text is not a JSON object.
  const json::object* root() const { return failed_ ? nullptr : &root_.get_object(); }

 private:
  json::monotonic_resource memory_;
  json::value root_;
  bool failed_ = false;
};

Status NoAnswer(std::string_view what) {
  return absl::DataLossError(absl::StrFormat("the answer is not the expected %s", what));
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

// Returns an attribute by its plain name, or by its name with the driver's domain.
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

// Returns the TCP ports of a list; the number is under `key`.
std::vector<ApiPort> PortsOf(const json::array* list, std::string_view key) {
  constexpr int64_t kMostPort = 65'535;
  std::vector<ApiPort> ports;
  for (const json::value& port : list == nullptr ? json::array() : *list) {
    const json::object* object = port.if_object();
    const std::string protocol = TextIn(object, "protocol");
    const int64_t number = NumberIn(object, key);
    if ((protocol.empty() || protocol == "TCP") && number > 0 && number <= kMostPort) {
      ports.push_back({TextIn(object, "name"), static_cast<uint16_t>(number)});
    }
  }
  return ports;
}

// By the API's rules a client uses the first address of each endpoint, and an endpoint without a
// readiness counts as ready.
void ReadEndpoints(const json::object* slice, ApiObject& object) {
  object.address_type = TextIn(slice, "addressType");
  object.ports = PortsOf(ArrayIn(slice, "ports"), "port");
  const json::array* endpoints = ArrayIn(slice, "endpoints");
  if (endpoints == nullptr) {
    return;
  }
  for (const json::value& one : *endpoints) {
    const json::object* endpoint = one.if_object();
    const json::array* addresses = ArrayIn(endpoint, "addresses");
    const json::value* ready = Member(ObjectIn(endpoint, "conditions"), "ready");
    if (addresses != nullptr && !addresses->empty()) {
      object.endpoints.push_back({TextOf(&addresses->front()), TextIn(endpoint, "nodeName"),
                                  ready == nullptr || !ready->is_bool() || ready->get_bool()});
    }
  }
}

std::vector<std::pair<std::string, uint64_t>> RequestsOf(const json::object* resources) {
  std::vector<std::pair<std::string, uint64_t>> requests;
  const json::object* asked = ObjectIn(resources, "requests");
  if (asked == nullptr) {
    asked = ObjectIn(resources, "limits");  // The server's default for requests.
  }
  if (asked == nullptr) {
    return requests;
  }
  for (const json::key_value_pair& resource : *asked) {
    const std::string_view name(resource.key().data(), resource.key().size());
    const std::optional<uint64_t> quantity = ParseQuantity(TextOf(&resource.value()));
    if (quantity && name.find('/') != std::string_view::npos) {
      requests.emplace_back(CleanUtf8(name), *quantity);
    }
  }
  return requests;
}

// Returns for example 0123abcd for "containerd://0123abcd".
std::string BareContainerId(const std::string& id) {
  const size_t end = id.find("://");
  return end == std::string::npos ? std::string() : id.substr(end + 3);
}

// Reads the containers of one list of the spec, and their ids from the list of the status.
void ReadContainers(const json::object* pod, std::string_view specified, std::string_view reported,
                    std::vector<ApiContainer>& containers) {
  const json::array* specifications = ArrayIn(ObjectIn(pod, "spec"), specified);
  if (specifications == nullptr) {
    return;
  }
  std::map<std::string, std::string> ids;
  if (const json::array* statuses = ArrayIn(ObjectIn(pod, "status"), reported)) {
    for (const json::value& status : *statuses) {
      ids[TextIn(status.if_object(), "name")] =
          BareContainerId(TextIn(status.if_object(), "containerID"));
    }
  }
  for (const json::value& specification : *specifications) {
    const json::object* container = specification.if_object();
    std::string name = TextIn(container, "name");
    const auto id = ids.find(name);
    containers.push_back({.name = std::move(name),
                          .id = id == ids.end() ? std::string() : id->second,
                          .requests = RequestsOf(ObjectIn(container, "resources")),
                          .is_regular = specified == "containers",
                          .ports = PortsOf(ArrayIn(container, "ports"), "containerPort")});
  }
}

// Returns the UUIDs in "GPU-0aaf,NVIDIA,3000,50:GPU-1bb0,NVIDIA,3000,50:", the shares of one
// container.
std::vector<std::string> UuidsOfShares(std::string_view shares) {
  std::vector<std::string> uuids;
  for (const std::string_view share : Split(shares, ':')) {
    const std::string_view uuid = Trim(share.substr(0, share.find(',')));
    if (!uuid.empty()) {
      uuids.emplace_back(uuid);
    }
  }
  return uuids;
}

bool AsksFor(const ApiContainer& container, std::span<const std::string_view> resources) {
  return std::ranges::any_of(container.requests, [resources](const auto& request) {
    return request.second > 0 && std::ranges::find(resources, request.first) != resources.end();
  });
}

std::vector<std::string> Indices(std::string_view list) {
  std::vector<std::string> indices;
  for (const std::string_view part : Split(list, ',')) {
    if (const std::string_view index = Trim(part); !index.empty()) {
      indices.emplace_back(index);
    }
  }
  return indices;
}

// Volcano's older gpushare and Alibaba's gpushare choose for the pod, not for each container.
void ReadGpusOfPod(const json::object* annotations, ApiContainer& container) {
  constexpr std::string_view kVolcano[] = {"volcano.sh/gpu-memory", "volcano.sh/gpu-number"};
  constexpr std::string_view kAliyun[] = {"aliyun.com/gpu-mem"};
  if (AsksFor(container, kVolcano)) {
    container.gpus = Indices(TextIn(annotations, "volcano.sh/gpu-index"));
  } else if (AsksFor(container, kAliyun) &&
             TextIn(annotations, "ALIYUN_COM_GPU_MEM_ASSIGNED") != "false") {
    container.gpus = Indices(TextIn(annotations, "ALIYUN_COM_GPU_MEM_IDX"));
    container.gpu_memory_units =
        ParseQuantity(TextIn(annotations, "ALIYUN_COM_GPU_MEM_DEV")).value_or(0);
  }
}

// Reads the GPUs that schedulers of GPU shares chose for each container of the spec, in its order.
void ReadGpus(const json::object* annotations, std::vector<ApiContainer>& containers) {
  std::string shares = TextIn(annotations, "hami.io/vgpu-devices-allocated");
  if (shares.empty()) {
    shares = TextIn(annotations, "volcano.sh/vgpu-ids-new");
  }
  const std::vector<std::string_view> by_container = Split(shares, ';');
  for (size_t i = 0; i < containers.size() && containers[i].is_regular; ++i) {
    containers[i].gpus =
        Indices(TextIn(annotations, absl::StrFormat("tencent.com/predicate-gpu-idx-%d", i)));
    if (containers[i].gpus.empty() && i < by_container.size()) {
      containers[i].gpus = UuidsOfShares(by_container[i]);
    }
    if (containers[i].gpus.empty()) {
      ReadGpusOfPod(annotations, containers[i]);
    }
  }
}

void ReadPod(const json::object* from, ApiObject& object) {
  const std::string phase = TextIn(ObjectIn(from, "status"), "phase");
  object.has_ended = phase == "Succeeded" || phase == "Failed";
  object.node = TextIn(ObjectIn(from, "spec"), "nodeName");
  object.ip = TextIn(ObjectIn(from, "status"), "podIP");
  ReadContainers(from, "containers", "containerStatuses", object.containers);
  ReadContainers(from, "initContainers", "initContainerStatuses", object.containers);
  ReadContainers(from, "ephemeralContainers", "ephemeralContainerStatuses", object.containers);
  const json::object* annotations = ObjectIn(ObjectIn(from, "metadata"), "annotations");
  object.config_hash = TextIn(annotations, "kubernetes.io/config.mirror");
  ReadGpus(annotations, object.containers);
}

// Reads the ConfigMap extension-apiserver-authentication.
void ReadAuthentication(const json::object* data, ApiObject& object) {
  for (const json::key_value_pair& entry : data == nullptr ? json::object() : *data) {
    const std::string_view key(entry.key().data(), entry.key().size());
    if (key == "client-ca-file" || key.starts_with("requestheader-")) {
      object.authentication.emplace(key, TextOf(&entry.value()));
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
  ReadAuthentication(ObjectIn(from, "data"), object);
  const json::object* spec = ObjectIn(from, "spec");
  if (ObjectIn(spec, "pool") != nullptr) {
    ReadSlice(spec, object);
  }
  if (Member(from, "addressType") != nullptr) {
    ReadEndpoints(from, object);
  }
  ReadPod(from, object);
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
    return std::tie(object.name_space, object.name, object.uid, object.labels, object.has_ended,
                    object.config_hash, object.containers, object.node, object.ip,
                    object.address_type, object.endpoints, object.ports, object.driver, object.pool,
                    object.pool_generation, object.devices, object.metrics, object.authentication);
  };
  return rest(*this) == rest(other);
}

StatusOr<ApiListHead> ParseApiListHead(std::string_view text) {
  const Document document(text);
  const json::object* metadata = ObjectIn(document.root(), "metadata");
  const json::value* items = Member(document.root(), "items");
  if (metadata == nullptr || items == nullptr || !(items->is_array() || items->is_null())) {
    return NoAnswer("list of the Kubernetes API");
  }
  return ApiListHead{TextIn(metadata, "resourceVersion"), TextIn(metadata, "continue")};
}

StatusOr<ApiObject> ParseApiItem(std::string_view text) {
  const Document document(text);
  ApiObject object = ObjectOf(document.root());
  if (object.name.empty()) {
    return NoAnswer("object of a list of the Kubernetes API");
  }
  return object;
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
    return NoAnswer("known watch event");
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
  if (TextIn(document.root(), "kind") == "Status") {
    return FailureOf(document.root());
  }
  const std::string_view line = Trim(text.substr(0, text.find('\n')));
  const bool is_plain = document.root() == nullptr && !line.empty() && line.front() != '<';
  return {.code = 0, .reason = {}, .message = is_plain ? CleanUtf8(line) : std::string()};
}

std::optional<uint64_t> ParseQuantity(std::string_view text) {
  struct Suffix {
    std::string_view word;
    uint64_t factor;
  };
  static constexpr uint64_t kMost = 1ULL << 53U;
  static constexpr std::array<Suffix, 8> kSuffixes = {{{"Ki", 1ULL << 10U},
                                                       {"Mi", 1ULL << 20U},
                                                       {"Gi", 1ULL << 30U},
                                                       {"Ti", 1ULL << 40U},
                                                       {"k", 1'000},
                                                       {"M", 1'000'000},
                                                       {"G", 1'000'000'000},
                                                       {"T", 1'000'000'000'000}}};
  uint64_t factor = 1;
  for (const Suffix& suffix : kSuffixes) {
    if (text.ends_with(suffix.word)) {
      factor = suffix.factor;
      text.remove_suffix(suffix.word.size());
      break;
    }
  }
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > kMost / factor) {
    return std::nullopt;
  }
  return number * factor;
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
