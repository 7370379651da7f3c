#include "cluster/node_address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <map>
#include <netinet/in.h>
#include <optional>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kForms = "Write HOST, HOST:PORT or [IPV6]:PORT";
constexpr size_t kLongestHostBytes = 253;

bool IsHost(std::string_view host, bool in_brackets) {
  const auto may_stand = [in_brackets](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' ||
           (in_brackets && (c == ':' || c == '%'));
  };
  return !host.empty() && host.size() <= kLongestHostBytes && host.front() != '-' &&
         std::ranges::all_of(host, may_stand);
}

Status NoAddress(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s is not an address. %s", Quoted(text), kForms));
}

}  // namespace

StatusOr<HostAndPort> ParseHostAndPort(std::string_view text) {
  HostAndPort address;
  std::string_view rest = text;
  const bool in_brackets = rest.starts_with('[');
  if (in_brackets) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return NoAddress(text);
    }
    address.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    address.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(address.host.size());
  }
  if (!IsHost(address.host, in_brackets) || (!rest.empty() && rest.front() != ':')) {
    return NoAddress(text);
  }
  if (!rest.empty()) {
    const std::optional<uint64_t> port = ParseDecimal(rest.substr(1));
    if (!port || *port == 0 || *port > 65'535) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s has no port from 1 to 65535. %s", Quoted(text), kForms));
    }
    address.port = static_cast<uint16_t>(*port);
  }
  return address;
}

bool MayBeAPods(std::string_view ip) {
  in_addr v4{};
  in6_addr v6{};
  const std::string text(ip);
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (!IN6_IS_ADDR_V4MAPPED(&v6)) {
      return !IN6_IS_ADDR_UNSPECIFIED(&v6) && !IN6_IS_ADDR_LOOPBACK(&v6) &&
             !IN6_IS_ADDR_LINKLOCAL(&v6) && !IN6_IS_ADDR_MULTICAST(&v6);
    }
    std::memcpy(&v4, &v6.s6_addr[12], sizeof v4);
  } else if (::inet_pton(AF_INET, text.c_str(), &v4) != 1) {
    return false;
  }
  const uint32_t address = ntohl(v4.s_addr);
  const uint32_t net = address >> 24U;
  constexpr uint32_t kLoopback = 127;
  constexpr uint32_t kFirstMulticast = 224;
  constexpr uint32_t kLinkLocal = 0xa9fe;  // 169.254
  return net != 0 && net != kLoopback && net < kFirstMulticast && address >> 16U != kLinkLocal;
}

std::string ToString(const HostAndPort& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + address.host + "]" : address.host;
  return absl::StrFormat("%s:%d", host, address.port);
}

StatusOr<std::vector<HostAndPort>> ParseNodeFile(std::string_view text, std::string_view path) {
  std::vector<HostAndPort> addresses;
  std::map<HostAndPort, size_t> lines;
  size_t number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) {
      continue;
    }
    StatusOr<HostAndPort> address = ParseHostAndPort(line);
    if (!address.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s:%d: %s", path, number, address.status().message()));
    }
    const auto [first, is_new] = lines.emplace(*address, number);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s:%d: %s is already in line %d. Remove one of them", path, number,
                          Quoted(line), first->second));
    }
    if (addresses.size() == kMostNodes) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s:%d: more than %d nodes. Split them over several instances of the cluster role", path,
          number, kMostNodes));
    }
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

}  // namespace podgpu
