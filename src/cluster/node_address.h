// Parses node addresses: a single address, or a file of addresses.
//
// A host may be a name or a numeric address; the default port is 9400.  Every mistake is refused
// with one line that names the place, the text and the remedy.  Pure functions; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

inline constexpr uint16_t kNodePort = 9400;
// No cluster has more nodes; a file or an answer with more is a mistake.
inline constexpr size_t kMostNodes = 20'000;

struct HostAndPort {
  std::string host;  // Name or address without brackets.
  uint16_t port = kNodePort;
  auto operator<=>(const HostAndPort&) const = default;
};

// Parses "gpu-node-1", "gpu-node-1:9400", "10.0.0.7:9400" or "[fd00::7]:9400".
StatusOr<HostAndPort> ParseHostAndPort(std::string_view text);
// Returns the same text with the port.
std::string ToString(const HostAndPort& address);

// Returns whether `text` is a numeric address that a pod may have: not loopback, link-local,
// multicast or unspecified.  The API server checks this for endpoints but not for pods: a user with
// the permission to write a pod's status could make this program send requests to itself.
bool MayBeAPods(std::string_view ip);

// One address a line; blank lines and text after "#" are ignored. `path` is for messages.
StatusOr<std::vector<HostAndPort>> ParseNodeFile(std::string_view text, std::string_view path);

// The address of a node, ready for requests.
struct NodeAddress {
  std::string id;  // "gpu-node-1:9400": the label `address`.
  std::string ip;  // A numeric address.
  uint16_t port = kNodePort;
  std::string name;           // The name that its certificate must have.
  std::string expected_node;  // The node name that its report must have; empty: any.
  auto operator<=>(const NodeAddress&) const = default;
};

// The result of one search for nodes.
struct FoundNodes {
  std::vector<NodeAddress> addresses;
  std::vector<std::string> complaints;  // One for each node that is left out.
};

}  // namespace podgpu
