#include "ui/condition_json.h"

#include <boost/json.hpp>

namespace podgpu {

std::string ConditionJson(const Condition& condition) {
  boost::json::object object;
  object["ready"] = condition.ready;
  object["verdict"] = condition.verdict;
  boost::json::array& parts = object["parts"].emplace_array();
  for (const PartCondition& part : condition.parts) {
    parts.push_back(
        {{"part", part.part}, {"state", PartStateName(part.state)}, {"detail", part.detail}});
  }
  boost::json::array& devices = object["devices"].emplace_array();
  for (const DeviceCondition& device : condition.devices) {
    devices.push_back({{"gpu", device.gpu_id},
                       {"state", device.state},
                       {"uuid", device.uuid},
                       {"model", device.model},
                       {"pci_bus_id", device.pci_bus_id},
                       {"owners", device.owners}});
  }
  return boost::json::serialize(object) + "\n";
}

std::string ErrorJson(std::string_view message) {
  return boost::json::serialize(boost::json::object{{"error", message}}) + "\n";
}

}  // namespace podgpu
