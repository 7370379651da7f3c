#include "report/node_report.h"

#include <boost/json.hpp>

namespace podgpu {
namespace {

constexpr double kBytesPerMebibyte = 1048576;
constexpr double kMostBytes = 1e15;
// Activity is measured and may slightly exceed its exact limit.
constexpr double kMostRatio = 1.05;
constexpr double kMostWatts = 1e5;

constexpr UseMeasureRow kUseMeasures[] = {
    {UseMeasure::kUtilization, "utilization_percent", 203, 1, 100},
    {UseMeasure::kMemoryCopy, "memory_copy_utilization_percent", 204, 1, 100},
    {UseMeasure::kSmActive, "sm_active_ratio", 1002, 1, kMostRatio},
    {UseMeasure::kTensorActive, "tensor_active_ratio", 1004, 1, kMostRatio},
    {UseMeasure::kMemoryUsed, "memory_used_bytes", 252, kBytesPerMebibyte, kMostBytes},
    {UseMeasure::kMemoryTotal, "memory_total_bytes", 250, kBytesPerMebibyte, kMostBytes},
    {UseMeasure::kPower, "power_watts", 155, 1, kMostWatts},
};
static_assert(std::size(kUseMeasures) == kUseMeasureCount);

boost::json::object OwnerJson(const ReportedOwner& owner) {
  boost::json::object object = {
      {"namespace", owner.pod_namespace}, {"pod", owner.pod}, {"container", owner.container}};
  if (!owner.resource.empty()) {
    object["resource"] = owner.resource;
  }
  if (!owner.claim.empty()) {
    object["claim"] = owner.claim;
  }
  return object;
}

// Prints whole numbers without a decimal point, so a reader sees the number that the driver
// returned.
boost::json::value NumberJson(double number) {
  const auto whole = static_cast<int64_t>(number);
  if (static_cast<double>(whole) == number) {
    return whole;
  }
  return number;
}

boost::json::object PodUseJson(const ReportedPodUse& pod) {
  boost::json::object object = {{"namespace", pod.pod_namespace}, {"pod", pod.pod}};
  if (pod.sm_percent) {
    object["sm_percent"] = NumberJson(*pod.sm_percent);
  }
  if (pod.memory_bytes) {
    object["memory_bytes"] = *pod.memory_bytes;
  }
  if (pod.energy_joules) {
    object["energy_joules"] = NumberJson(*pod.energy_joules);
  }
  return object;
}

void AddUse(const DeviceUse& use, boost::json::object& object) {
  boost::json::object& values = object["values"].emplace_object();
  for (const UseMeasureRow& row : kUseMeasures) {
    if (const std::optional<UseValue>& value = use.of(row.measure)) {
      values[boost::json::string_view(row.key.data(), row.key.size())] = {
          {"value", NumberJson(value->value)}, {"age_ms", value->age_ms}};
    }
  }
  boost::json::array& owners = object["owners"].emplace_array();
  for (const ReportedOwner& owner : use.owners) {
    owners.push_back(OwnerJson(owner));
  }
  if (use.hidden_owners > 0) {
    object["hidden_owners"] = use.hidden_owners;
  }
  if (use.processes) {
    object["processes"] = *use.processes;
  }
  if (!use.pods.empty()) {
    boost::json::array& pods = object["pods"].emplace_array();
    for (const ReportedPodUse& pod : use.pods) {
      pods.push_back(PodUseJson(pod));
    }
  }
}

boost::json::object InstanceJson(const ReportedInstance& instance) {
  boost::json::object object = {{"gpu_instance_id", instance.gpu_instance_id},
                                {"profile", instance.profile}};
  boost::json::array& uuids = object["uuids"].emplace_array();
  for (const std::string& uuid : instance.uuids) {
    uuids.emplace_back(uuid);
  }
  AddUse(instance.use, object);
  return object;
}

boost::json::object GpuJson(const ReportedGpu& gpu) {
  boost::json::object object = {
      {"gpu", gpu.index}, {"uuid", gpu.uuid}, {"model", gpu.model}, {"state", gpu.state}};
  AddUse(gpu.use, object);
  if (!gpu.instances.empty()) {
    boost::json::array& instances = object["instances"].emplace_array();
    for (const ReportedInstance& instance : gpu.instances) {
      instances.push_back(InstanceJson(instance));
    }
  }
  return object;
}

}  // namespace

std::span<const UseMeasureRow> UseMeasures() { return kUseMeasures; }

std::string WriteNodeReport(const NodeReport& report) {
  boost::json::object object = {
      {"schema", kNodeReportSchema}, {"version", report.version},
      {"node", report.node},         {"ready", report.ready},
      {"verdict", report.verdict},   {"owners_known", report.owners_known},
  };
  boost::json::array& devices = object["devices"].emplace_array();
  for (const ReportedGpu& gpu : report.gpus) {
    devices.push_back(GpuJson(gpu));
  }
  return boost::json::serialize(object) + "\n";
}

}  // namespace podgpu
