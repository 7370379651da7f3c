#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "report/node_report.h"

namespace podgpu {
namespace {

namespace json = boost::json;

constexpr std::string_view kStates[] = {"ok", "degraded", "unresponsive", "lost", "recovering"};

// Reads one report and stops at the first error.
class ReportReader {
 public:
  explicit ReportReader(const NodeReportLimits& limits) : limits_(limits) {}

  StatusOr<NodeReport> Read(const json::object& root) {
    int64_t schema = 0;
    Take(Number(root, "schema", std::numeric_limits<int64_t>::max()), schema);
    if (failure_.ok() && schema != kNodeReportSchema) {
      return absl::UnimplementedError(absl::StrFormat(
          "schema %d is not supported, only %d: run the same release of podgpu on nodes and "
          "cluster role",
          schema, kNodeReportSchema));
    }
    NodeReport report;
    report.version = Text(root, "version");
    report.node = NonEmpty(root, "node");
    report.ready = Flag(root, "ready");
    report.verdict = Text(root, "verdict");
    report.owners_known = Flag(root, "owners_known");
    for (const json::value& gpu : Array(root, "devices", limits_.most_gpus)) {
      report.gpus.push_back(ReadGpu(Object(gpu, "devices")));
    }
    PODGPU_RETURN_IF_ERROR(failure_);
    return report;
  }

 private:
  void Fail(const std::string& what) {
    if (failure_.ok()) {
      failure_ = absl::InvalidArgumentError(what);
    }
  }

  ReportedGpu ReadGpu(const json::object& object) {
    ReportedGpu gpu;
    Take(Number(object, "gpu", std::numeric_limits<uint32_t>::max()), gpu.index);
    gpu.uuid = Unique(NonEmpty(object, "uuid"));
    gpu.model = Text(object, "model");
    gpu.state = Text(object, "state");
    if (std::ranges::find(kStates, gpu.state) == std::end(kStates)) {
      Fail(absl::StrFormat("\"state\" is %s, which is not a device state", Quoted(gpu.state)));
    }
    gpu.use = ReadUse(object);
    if (object.contains("instances")) {
      std::set<uint32_t> ids;
      for (const json::value& instance : Array(object, "instances", limits_.most_instances)) {
        gpu.instances.push_back(ReadInstance(Object(instance, "instances")));
        if (!ids.insert(gpu.instances.back().gpu_instance_id).second) {
          Fail(absl::StrFormat("GPU %d has two instances with number %d", gpu.index,
                               gpu.instances.back().gpu_instance_id));
        }
      }
    }
    return gpu;
  }

  ReportedInstance ReadInstance(const json::object& object) {
    ReportedInstance instance;
    Take(Number(object, "gpu_instance_id", std::numeric_limits<uint32_t>::max()),
         instance.gpu_instance_id);
    instance.profile = Text(object, "profile");
    for (const json::value& uuid : Array(object, "uuids", limits_.most_instances)) {
      instance.uuids.push_back(Unique(TextOf(&uuid, "uuids")));
    }
    instance.use = ReadUse(object);
    return instance;
  }

  DeviceUse ReadUse(const json::object& object) {
    DeviceUse use;
    const json::value* values = object.if_contains("values");
    const json::object& members = values == nullptr ? Missing("values") : Object(*values, "values");
    for (const UseMeasureRow& row : UseMeasures()) {
      if (const json::value* value = members.if_contains({row.key.data(), row.key.size()})) {
        use.values[static_cast<size_t>(row.measure)] = ReadValue(row, Object(*value, row.key));
      }
    }
    const size_t owners_left = limits_.most_owners - owners_;
    for (const json::value& owner : Array(object, "owners", owners_left)) {
      use.owners.push_back(ReadOwner(Object(owner, "owners")));
      ++owners_;
    }
    if (object.contains("hidden_owners")) {
      Take(Number(object, "hidden_owners", std::numeric_limits<uint32_t>::max()),
           use.hidden_owners);
    }
    if (object.contains("processes")) {
      Take(Number(object, "processes", std::numeric_limits<uint32_t>::max()),
           use.processes.emplace());
    }
    if (object.contains("pods")) {
      const size_t pods_left = limits_.most_owners - pods_;
      for (const json::value& pod : Array(object, "pods", pods_left)) {
        use.pods.push_back(ReadPodUse(Object(pod, "pods")));
        ++pods_;
      }
    }
    return use;
  }

  UseValue ReadValue(const UseMeasureRow& row, const json::object& object) {
    UseValue value;
    const json::value* number = object.if_contains("value");
    boost::system::error_code error;
    value.value = number == nullptr ? 0 : number->to_number<double>(error);
    if (number == nullptr || error || !(value.value >= 0) || value.value > row.most) {
      Fail(absl::StrFormat("\"%s\" is not a number from 0 to %g", row.key, row.most));
    }
    Take(Number(object, "age_ms", std::numeric_limits<uint32_t>::max()), value.age_ms);
    return value;
  }

  ReportedOwner ReadOwner(const json::object& object) {
    ReportedOwner owner;
    owner.pod_namespace = NonEmpty(object, "namespace");
    owner.pod = NonEmpty(object, "pod");
    owner.container = Text(object, "container");
    owner.resource = object.contains("resource") ? Text(object, "resource") : "";
    owner.claim = object.contains("claim") ? Text(object, "claim") : "";
    return owner;
  }

  ReportedPodUse ReadPodUse(const json::object& object) {
    constexpr double kMostPercent = 100;
    constexpr double kMostAmount = 1e15;
    ReportedPodUse pod;
    pod.pod_namespace = NonEmpty(object, "namespace");
    pod.pod = NonEmpty(object, "pod");
    pod.sm_percent = OptionalAmount(object, "sm_percent", kMostPercent);
    pod.energy_joules = OptionalAmount(object, "energy_joules", kMostAmount);
    if (object.contains("memory_bytes")) {
      Take(Number(object, "memory_bytes", static_cast<int64_t>(kMostAmount)),
           pod.memory_bytes.emplace());
    }
    return pod;
  }

  std::optional<double> OptionalAmount(const json::object& object, std::string_view key,
                                       double most) {
    const json::value* number = object.if_contains({key.data(), key.size()});
    if (number == nullptr) {
      return std::nullopt;
    }
    boost::system::error_code error;
    const auto amount = number->to_number<double>(error);
    if (error || !(amount >= 0) || amount > most) {
      Fail(absl::StrFormat("\"%s\" is not a number from 0 to %g", key, most));
    }
    return amount;
  }

  std::string Unique(std::string uuid) {
    if (!uuids_.insert(uuid).second) {
      Fail(absl::StrFormat("%s is the UUID of two devices", Quoted(uuid)));
    }
    return uuid;
  }

  const json::object& Missing(std::string_view key) {
    Fail(absl::StrFormat("\"%s\" is missing", key));
    return none_;
  }

  const json::object& Object(const json::value& value, std::string_view key) {
    const json::object* object = value.if_object();
    if (object == nullptr) {
      Fail(absl::StrFormat("\"%s\" is not an object", key));
    }
    return object == nullptr ? none_ : *object;
  }

  const json::array& Array(const json::object& object, std::string_view key, size_t most) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    const json::array* array = value == nullptr ? nullptr : value->if_array();
    if (array == nullptr) {
      Fail(absl::StrFormat("\"%s\" is not a list", key));
      return empty_;
    }
    if (array->size() > most) {
      Fail(absl::StrFormat("\"%s\" has %d members; at most %d are allowed", key, array->size(),
                           most));
      return empty_;
    }
    return failure_.ok() ? *array : empty_;
  }

  std::string TextOf(const json::value* value, std::string_view key) {
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    if (text == nullptr || text->size() > limits_.most_text_bytes) {
      Fail(absl::StrFormat("\"%s\" is not a text of at most %d bytes", key,
                           limits_.most_text_bytes));
      return {};
    }
    return {text->data(), text->size()};
  }

  std::string Text(const json::object& object, std::string_view key) {
    return TextOf(object.if_contains({key.data(), key.size()}), key);
  }

  std::string NonEmpty(const json::object& object, std::string_view key) {
    std::string text = Text(object, key);
    if (text.empty()) {
      Fail(absl::StrFormat("\"%s\" is empty", key));
    }
    return text;
  }

  bool Flag(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    const bool* flag = value == nullptr ? nullptr : value->if_bool();
    if (flag == nullptr) {
      Fail(absl::StrFormat("\"%s\" is neither true nor false", key));
    }
    return flag != nullptr && *flag;
  }

  // Reads a whole number from 0 to `most`.
  int64_t Number(const json::object& object, std::string_view key, int64_t most) {
    const json::value* value = object.if_contains({key.data(), key.size()});
    const int64_t* number = value == nullptr ? nullptr : value->if_int64();
    if (number == nullptr || *number < 0 || *number > most) {
      Fail(absl::StrFormat("\"%s\" is not a whole number from 0 to %d", key, most));
      return 0;
    }
    return *number;
  }

  template <typename Integer>
  static void Take(int64_t number, Integer& into) {
    into = static_cast<Integer>(number);
  }

  const NodeReportLimits& limits_;
  Status failure_;
  std::set<std::string> uuids_;
  size_t owners_ = 0;
  size_t pods_ = 0;
  const json::object none_;
  const json::array empty_;
};

}  // namespace

StatusOr<NodeReport> ReadNodeReport(std::string_view text, const NodeReportLimits& limits) {
  constexpr size_t kDepth = 8;
  json::parse_options options;
  options.max_depth = kDepth;
  json::monotonic_resource memory;
  boost::system::error_code error;
  const json::value root = json::parse({text.data(), text.size()}, error, &memory, options);
  if (error || !root.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("it is not a JSON object: %s", error ? error.message() : "another value"));
  }
  return ReportReader(limits).Read(root.get_object());
}

}  // namespace podgpu
