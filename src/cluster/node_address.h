// Where nodes are, as people write it: one address, or a file of them.
//
// A host may be a name or a number; port 9400 where none is said.  Every mistake is refused with
// one line that names the place, what stands there and what to write instead.  Pure functions; any
// thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

inline constexpr uint16_t kNodePort = 9400;
// More than any cluster has; a file or an answer with more is a mistake.
inline constexpr size_t kMostNodes = 20'000;

struct HostAndPort {
  std::string host;  // Without brackets.
  uint16_t port = kNodePort;
  auto operator<=>(const HostAndPort&) const = default;
};

// "gpu-node-1", "gpu-node-1:9400", "10.0.0.7:9400", "[fd00::7]:9400".
StatusOr<HostAndPort> ParseHostAndPort(std::string_view text);
// The same again, with the port.
std::string ToString(const HostAndPort& address);

// Whether this is an address, in numbers, that a pod may have: neither of loopback, link-local,
// multicast nor of no interface at all.  An API server checks that for endpoints, and not for pods:
// a user who may write their status could have this program ask itself.
bool MayBeAPods(std::string_view ip);

// One address a line; blank lines and what follows "#" do not count.  `path` is for messages.
StatusOr<std::vector<HostAndPort>> ParseNodeFile(std::string_view text, std::string_view path);

// A node that may be asked.
struct NodeAddress {
  std::string id;  // "gpu-node-1:9400": the label `address`.
  std::string ip;  // In numbers.
  uint16_t port = kNodePort;
  std::string name;           // Whom its certificate must name.
  std::string expected_node;  // What it must call itself; empty: anything.
  auto operator<=>(const NodeAddress&) const = default;
};

// What one look for nodes has brought.
struct FoundNodes {
  std::vector<NodeAddress> addresses;
  std::vector<std::string> complaints;  // Of what is left out.
};

}  // namespace podgpu
