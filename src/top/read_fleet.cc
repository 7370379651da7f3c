#include "top/read_fleet.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr int64_t kReadSchema = 1;
constexpr size_t kMostCells = 4'000'000;  // A hundred times the largest fleet that was measured.
constexpr size_t kFleetDepth = 8;

// Reads a fleet and remembers the first mistake.
class FleetReader {
 public:
  explicit FleetReader(const boost::json::object& root) : root_(root) {}

  StatusOr<FleetStatus> Read() {
    const std::optional<int64_t> schema = Number(root_.if_contains("schema"));
    if (!schema) {
      return absl::InvalidArgumentError("it has no \"schema\"");
    }
    if (*schema != kReadSchema) {
      return absl::UnimplementedError(
          absl::StrFormat("it answers with schema %d; this podgpu reads %d", *schema, kReadSchema));
    }
    fleet_.version = Text(root_.if_contains("version"));
    fleet_.verdict = Text(root_.if_contains("verdict"));
    const boost::json::value* const ready = root_.if_contains("ready");
    fleet_.ready = ready != nullptr && ready->is_bool() && ready->get_bool();
    ReadPods();
    ReadNodes();
    ReadDevices();
    PODGPU_RETURN_IF_ERROR(failure_);
    std::erase_if(fleet_.pods, [](const FleetPodRow& pod) { return pod.gpus == 0; });
    return std::move(fleet_);
  }

 private:
  void ReadPods() {
    const boost::json::array& namespaces = List(root_, "namespaces");
    for (const boost::json::value& value : List(root_, "pods")) {
      const boost::json::array* const pair = value.if_array();
      const std::optional<int64_t> index =
          pair != nullptr && pair->size() == 2 ? Number(&pair->front()) : std::nullopt;
      if (!index || *index >= std::ssize(namespaces)) {
        Fail("pods", "not a list of pairs");
        return;
      }
      FleetPodRow pod;
      pod.pod_namespace = Text(&namespaces[static_cast<size_t>(*index)]);
      pod.pod = Text(&pair->back());
      fleet_.pods.push_back(std::move(pod));
    }
  }

  void ReadNodes() {
    const boost::json::object& nodes = Object("nodes");
    const boost::json::array& names = List(nodes, "node");
    const auto column = [&](std::string_view key) -> const boost::json::array& {
      return Column(nodes, key, names.size());
    };
    const boost::json::array &addresses = column("address"), &states = column("state"),
                             &details = column("detail"), &read_at = column("read_at_s"),
                             &known = column("owners_known"), &devices = column("devices");
    for (size_t i = 0; failure_.ok() && i < names.size(); ++i) {
      FleetNodeRow node;
      node.node = Text(&names[i]);
      node.address = Text(&addresses[i]);
      node.state = Text(&states[i]);
      node.detail = Text(&details[i]);
      node.read_at_s = Number(&read_at[i]);
      node.owners_known = known[i].is_bool() && known[i].get_bool();
      node.gpus = static_cast<uint32_t>(
          std::clamp<int64_t>(Number(&devices[i]).value_or(0), 0, int64_t{1} << 20));
      fleet_.nodes.push_back(std::move(node));
    }
  }

  // The columns of all GPUs, which stand in the order of their nodes.
  struct Columns {
    const boost::json::array &state, &activity, &used, &total, &pods, &hidden, &idle;
  };

  void ReadDevices() {
    const boost::json::object& devices = Object("devices");
    const size_t count = List(devices, "gpu").size();
    size_t expected = 0;
    for (const FleetNodeRow& node : fleet_.nodes) {
      expected += node.gpus;
    }
    const Columns columns = {Column(devices, "state", count),
                             Column(devices, "activity_percent", count),
                             Column(devices, "memory_used_mib", count),
                             Column(devices, "memory_total_mib", count),
                             Column(devices, "pods", count),
                             Column(devices, "hidden_owners", count),
                             Column(devices, "idle_since_s", count)};
    const boost::json::array& names = List(root_, "states");
    if (failure_.ok() && expected != count) {
      Fail("devices", "not as long as the nodes say");
    }
    size_t at = 0;
    for (FleetNodeRow& node : fleet_.nodes) {
      int64_t activity = 0, known = 0;
      for (uint32_t i = 0; failure_.ok() && i < node.gpus; ++i, ++at) {
        AddGpu(columns, names, at, node);
        if (const std::optional<int64_t> percent = Number(&columns.activity[at])) {
          activity += std::min<int64_t>(*percent, 100);
          ++known;
        }
      }
      if (known > 0) {
        node.activity_percent = activity / known;
      }
    }
  }

  void AddGpu(const Columns& columns, const boost::json::array& names, size_t at,
              FleetNodeRow& node) {
    const std::optional<int64_t> state = Number(&columns.state[at]);
    if (!state || *state >= std::ssize(names)) {
      Fail("state", "not an index of \"states\"");
      return;
    }
    const std::string word = Text(&names[static_cast<size_t>(*state)]);
    node.bad += word != "ok" && word != "degraded" ? 1U : 0U;
    const uint64_t used = Mib(columns.used[at]);
    node.memory_used_mib += used;
    node.memory_total_mib += Mib(columns.total[at]);
    const boost::json::array* const pods = columns.pods[at].if_array();
    if (pods == nullptr || pods->size() > kMostCells) {
      Fail("pods", "not a list of lists");
      return;
    }
    const std::optional<int64_t> idle_since = Number(&columns.idle[at]);
    const bool is_held = !pods->empty() || Number(&columns.hidden[at]).value_or(0) > 0;
    node.held += is_held ? 1U : 0U;
    node.idle += idle_since ? 1U : 0U;
    node.free += !is_held && node.owners_known ? 1U : 0U;
    for (const boost::json::value& index : *pods) {
      AddToPod(Number(&index), idle_since, used / pods->size(), node);
    }
  }

  void AddToPod(std::optional<int64_t> index, std::optional<int64_t> idle_since, uint64_t used,
                const FleetNodeRow& node) {
    if (!index || *index >= std::ssize(fleet_.pods)) {
      Fail("pods", "not a list of indexes");
      return;
    }
    FleetPodRow& pod = fleet_.pods[static_cast<size_t>(*index)];
    if (pod.gpus++ == 0) {
      pod.first_node = node.node.empty() ? node.address : node.node;
    }
    pod.memory_used_mib += used;
    if (idle_since) {
      ++pod.idle_gpus;
      pod.idle_since_sum_s += *idle_since;
      pod.idle_since_s = std::min(pod.idle_since_s.value_or(*idle_since), *idle_since);
    }
  }

  void Fail(std::string_view key, std::string_view what) {
    if (failure_.ok()) {
      failure_ = absl::InvalidArgumentError(absl::StrFormat("\"%s\" is %s", key, what));
    }
  }

  const boost::json::object& Object(std::string_view key) {
    const boost::json::value* const value = root_.if_contains({key.data(), key.size()});
    const boost::json::object* const object = value == nullptr ? nullptr : value->if_object();
    if (object == nullptr) {
      Fail(key, "not an object");
      return no_object_;
    }
    return *object;
  }

  const boost::json::array& List(const boost::json::object& object, std::string_view key) {
    const boost::json::value* const value = object.if_contains({key.data(), key.size()});
    const boost::json::array* const list = value == nullptr ? nullptr : value->if_array();
    if (list == nullptr || list->size() > kMostCells) {
      Fail(key, "not a list");
      return no_list_;
    }
    return *list;
  }

  const boost::json::array& Column(const boost::json::object& object, std::string_view key,
                                   size_t rows) {
    const boost::json::array& list = List(object, key);
    if (list.size() != rows) {
      Fail(key, "not a column as long as the others");
    }
    return list;
  }

  // A whole number from 0 to the seconds of the year 36812; nothing for null.
  static std::optional<int64_t> Number(const boost::json::value* value) {
    constexpr int64_t kMost = int64_t{1} << 40;
    const int64_t* const number = value == nullptr ? nullptr : value->if_int64();
    return number != nullptr && *number >= 0 && *number <= kMost ? std::optional(*number)
                                                                 : std::nullopt;
  }
  static uint64_t Mib(const boost::json::value& value) {
    constexpr int64_t kMost = int64_t{1} << 30;
    return static_cast<uint64_t>(std::min(Number(&value).value_or(0), kMost));
  }
  static std::string Text(const boost::json::value* value) {
    const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string() : std::string(text->data(), text->size());
  }

  const boost::json::object& root_;
  FleetStatus fleet_;
  Status failure_;
  const boost::json::object no_object_;
  const boost::json::array no_list_;
};

// Replaces the columns of `whole` by those of `delta` that have the same names.
void ReplaceColumns(const boost::json::object& delta, boost::json::object& whole) {
  for (const auto& [key, value] : delta) {
    boost::json::value& old = whole[key];
    if (value.is_object() && old.is_object()) {
      for (const auto& [name, column] : value.get_object()) {
        old.get_object()[name] = column;
      }
    } else {
      old = value;
    }
  }
}

bool IsDelta(const boost::json::object& answer) {
  const boost::json::value* const delta = answer.if_contains("delta");
  return delta != nullptr && delta->is_bool() && delta->get_bool();
}

}  // namespace

struct FleetColumns::Whole {
  boost::json::object answer;
};

FleetColumns::FleetColumns() = default;
FleetColumns::~FleetColumns() = default;

StatusOr<FleetStatus> FleetColumns::Take(std::string_view json) {
  boost::json::parse_options options;
  options.max_depth = kFleetDepth;
  boost::system::error_code error;
  boost::json::value answer = boost::json::parse({json.data(), json.size()}, error, {}, options);
  const std::unique_ptr<Whole> before = std::move(whole_);
  boost::json::object* const object = error ? nullptr : answer.if_object();
  if (object == nullptr) {
    return absl::InvalidArgumentError("the answer is not a JSON object");
  }
  auto whole = std::make_unique<Whole>();
  if (before != nullptr && IsDelta(*object)) {
    whole->answer = std::move(before->answer);
    ReplaceColumns(*object, whole->answer);
  } else {
    whole->answer = std::move(*object);
  }
  PODGPU_ASSIGN_OR_RETURN(FleetStatus fleet, FleetReader(whole->answer).Read());
  whole_ = std::move(whole);
  return fleet;
}

std::string FleetColumns::epoch() const {
  const boost::json::value* const epoch =
      whole_ == nullptr ? nullptr : whole_->answer.if_contains("epoch");
  const boost::json::string* const text = epoch == nullptr ? nullptr : epoch->if_string();
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return text != nullptr && std::ranges::all_of(*text, is_plain)
             ? std::string(text->data(), text->size())
             : "";
}

}  // namespace podgpu
