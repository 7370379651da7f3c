#include "cluster/api_nodes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kUsualPortName = "metrics";
constexpr size_t kLongestSelector = 1'024;

std::optional<uint16_t> PortNumber(std::string_view text) {
  constexpr uint64_t kMostPort = 65'535;
  const std::optional<uint64_t> number = ParseDecimal(text);
  return number && *number > 0 && *number <= kMostPort
             ? std::optional(static_cast<uint16_t>(*number))
             : std::nullopt;
}

// A port as in Kubernetes: a lower-case name or a number.
bool IsPort(std::string_view text) {
  constexpr size_t kLongestName = 15;
  const bool is_number = text.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? PortNumber(text).has_value()
                   : text.size() <= kLongestName && IsObjectName(text) &&
                         text.find('.') == std::string_view::npos;
}

bool IsSelector(std::string_view text) {
  return !text.empty() && text.size() <= kLongestSelector &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// Splits NAMESPACE/SELECTED:PORT.
StatusOr<ApiNodesOption> ParseSelected(std::string_view text, ApiCollection collection,
                                       std::string_view form) {
  ApiNodesOption option;
  option.collection = collection;
  const size_t slash = text.find('/');
  const size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos;
  const std::string_view port = has_port ? text.substr(colon + 1) : std::string_view();
  const std::string_view named = has_port ? text.substr(0, colon) : text;
  if (slash == std::string_view::npos || slash >= named.size() ||
      !IsObjectName(named.substr(0, slash)) || (has_port && !IsPort(port))) {
    return absl::InvalidArgumentError(
        absl::StrFormat("must be %s or %s:PORT; PORT is a name or a number", form, form));
  }
  option.name_space = named.substr(0, slash);
  option.selected = named.substr(slash + 1);
  option.port = port;
  return option;
}

// Chooses the wanted port from `ports`, or `usual` if no port is named; empty if the choice is not
// clear.
std::optional<uint16_t> ChoosePort(const std::vector<ApiPort>& ports, const std::string& wanted,
                                   std::optional<uint16_t> usual) {
  if (const std::optional<uint16_t> number = PortNumber(wanted)) {
    return number;
  }
  const auto named = std::ranges::find(
      ports, wanted.empty() ? kUsualPortName : std::string_view(wanted), &ApiPort::name);
  if (named != ports.end()) {
    return named->number;
  }
  return wanted.empty() ? usual : std::nullopt;
}

NodeAddress AddressAt(const std::string& ip, uint16_t port, std::string certificate_name,
                      const std::string& node) {
  return {ToString({ip, port}), ip, port, std::move(certificate_name), node};
}

// Adds the endpoints of one slice.
void AddSlice(const ApiNodesOption& option, const ApiObject& slice, FoundNodes& found) {
  const std::optional<uint16_t> port = ChoosePort(
      slice.ports, option.port,
      slice.ports.size() == 1 ? std::optional(slice.ports.front().number) : std::nullopt);
  if (!port) {
    found.complaints.push_back(absl::StrFormat(
        "the Service %s/%s has no port named %s. Name one: endpoints:%s/%s:PORT", option.name_space,
        option.selected,
        Quoted(option.port.empty() ? kUsualPortName : std::string_view(option.port)),
        option.name_space, option.selected));
    return;
  }
  const std::string name = absl::StrFormat("%s.%s.svc", option.selected, option.name_space);
  for (const ApiEndpoint& endpoint : slice.endpoints) {
    if (endpoint.is_ready) {
      found.addresses.push_back(AddressAt(endpoint.ip, *port, name, endpoint.node));
    }
  }
}

// A Service with IPv4 and IPv6 has each endpoint in two slices; only one address of each is used.
FoundNodes NodesInSlices(const ApiNodesOption& option, const ApiObjects& slices) {
  const auto is_of = [](std::string_view type) {
    return [type](const auto& entry) { return entry.second.address_type == type; };
  };
  const std::string_view family = std::ranges::any_of(slices, is_of("IPv4")) ? "IPv4" : "IPv6";
  FoundNodes found;
  for (const auto& [key, slice] : slices) {
    if (slice.address_type == family && !slice.endpoints.empty()) {
      AddSlice(option, slice, found);
    }
  }
  return found;
}

void AddPod(const ApiNodesOption& option, const ApiObject& pod, FoundNodes& found) {
  if (!MayBeAPods(pod.ip)) {
    found.complaints.push_back(
        absl::StrFormat("the pod %s/%s reports the address %s, which is not a valid pod address",
                        pod.name_space, pod.name, Quoted(pod.ip)));
    return;
  }
  std::vector<ApiPort> ports;
  for (const ApiContainer& container : pod.containers) {
    ports.insert(ports.end(), container.ports.begin(), container.ports.end());
  }
  const std::optional<uint16_t> port = ChoosePort(ports, option.port, kNodePort);
  if (port) {
    found.addresses.push_back(AddressAt(pod.ip, *port, pod.ip, pod.node));
  } else {
    found.complaints.push_back(absl::StrFormat("the pod %s/%s has no port named %s", pod.name_space,
                                               pod.name, Quoted(option.port)));
  }
}

FoundNodes NodesInPods(const ApiNodesOption& option, const ApiObjects& pods) {
  FoundNodes found;
  for (const auto& [key, pod] : pods) {
    if (!pod.has_ended && !pod.ip.empty()) {
      AddPod(option, pod, found);
    }
  }
  return found;
}

}  // namespace

StatusOr<ApiNodesOption> ParseEndpointsOption(std::string_view text) {
  constexpr std::string_view kForm = "endpoints:NAMESPACE/SERVICE";
  PODGPU_ASSIGN_OR_RETURN(ApiNodesOption option,
                          ParseSelected(text, ApiCollection::kEndpointSlices, kForm));
  if (!IsObjectName(option.selected)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is not a valid Service name", Quoted(option.selected)));
  }
  return option;
}

StatusOr<ApiNodesOption> ParsePodsOption(std::string_view text) {
  constexpr std::string_view kForm = "pods:NAMESPACE/SELECTOR";
  PODGPU_ASSIGN_OR_RETURN(ApiNodesOption option,
                          ParseSelected(text, ApiCollection::kWholePods, kForm));
  if (!IsSelector(option.selected)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s selects no pods; write labels, such as app.kubernetes.io/name=podgpu",
                        Quoted(option.selected)));
  }
  return option;
}

ApiScope ScopeOf(const ApiNodesOption& option) {
  return {option.name_space, option.collection == ApiCollection::kEndpointSlices
                                 ? "kubernetes.io/service-name=" + option.selected
                                 : option.selected};
}

FoundNodes NodesIn(const ApiNodesOption& option, const ApiObjects& objects) {
  return option.collection == ApiCollection::kEndpointSlices ? NodesInSlices(option, objects)
                                                             : NodesInPods(option, objects);
}

std::string WhyNoNodes(const ApiNodesOption& option) {
  return option.collection == ApiCollection::kEndpointSlices
             ? absl::StrFormat("the Service %s/%s has no ready endpoint", option.name_space,
                               option.selected)
             : absl::StrFormat("no pod of the namespace %s with the labels %s has an address",
                               option.name_space, option.selected);
}

}  // namespace podgpu
