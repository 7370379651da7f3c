#include "http/listen.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kUnixScheme = "unix:";
constexpr int kBacklog = 1024;  // The kernel limits it to net.core.somaxconn.

// The columns of /proc/net/tcp that are read (Linux Documentation/networking/proc_net_tcp.rst).
constexpr size_t kLocalAddressColumn = 1;
constexpr size_t kStateColumn = 3;
constexpr size_t kInodeColumn = 9;
constexpr std::string_view kListenState = "0A";

std::vector<std::string_view> Columns(std::string_view line) {
  std::vector<std::string_view> columns;
  for (const std::string_view column : Split(line, ' ')) {
    if (!column.empty()) {
      columns.push_back(column);
    }
  }
  return columns;
}

// Returns whether "0100007F:24B8" or its IPv6 form ends with `port`.
bool HasPort(std::string_view local_address, uint16_t port) {
  const size_t colon = local_address.rfind(':');
  if (colon == std::string_view::npos) {
    return false;
  }
  const std::string_view digits = local_address.substr(colon + 1);
  uint16_t value = 0;
  const auto [next, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return error == std::errc{} && next == digits.data() + digits.size() && value == port;
}

// Returns the sockets that listen on `port` by their names in /proc/<pid>/fd: "socket:[12345]".
std::set<std::string> ListeningSockets(const Files& files, uint16_t port) {
  std::set<std::string> sockets;
  for (const std::string_view table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const StatusOr<std::string> text = files.Read(table);
    if (!text.ok()) {
      continue;
    }
    for (const std::string_view line : Split(*text, '\n')) {
      const std::vector<std::string_view> columns = Columns(line);
      if (columns.size() > kInodeColumn && columns[kStateColumn] == kListenState &&
          HasPort(columns[kLocalAddressColumn], port)) {
        sockets.insert(absl::StrFormat("socket:[%s]", columns[kInodeColumn]));
      }
    }
  }
  return sockets;
}

bool HoldsOneOf(const Files& files, const std::string& process,
                const std::set<std::string>& sockets) {
  const StatusOr<std::vector<std::string>> descriptors = files.List(process + "/fd");
  if (!descriptors.ok()) {
    return false;
  }
  for (const std::string& descriptor : *descriptors) {
    const StatusOr<std::string> target =
        files.ReadLink(absl::StrFormat("%s/fd/%s", process, descriptor));
    if (target.ok() && sockets.contains(*target)) {
      return true;
    }
  }
  return false;
}

Status TakenError(const ListenAddress& address, const Files& files) {
  const std::optional<std::string> owner = FindPortOwner(files, address.port);
  ListenAddress next = address;
  next.port = static_cast<uint16_t>(address.port == UINT16_MAX ? 0 : address.port + 1);
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s is in use%s. %s --address %s", ToString(address), owner ? " by " + *owner : std::string(),
      owner ? "Stop it, or choose" : "Choose", ToString(next)));
}

Status BindError(const ListenAddress& address, int error, const Files& files) {
  const std::string name = ToString(address);
  switch (error) {
    case EADDRINUSE:
      return TakenError(address, files);
    case EACCES:
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s needs a privilege: ports below 1024 are reserved. Choose a higher port", name));
    case EADDRNOTAVAIL:
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: %s is not an address of this machine. Choose one of its addresses, or :%d for all",
          name, address.host, address.port));
    default:
      return absl::InvalidArgumentError(absl::StrFormat("%s cannot be used to listen: %s", name,
                                                        std::system_category().message(error)));
  }
}

uint16_t BoundPort(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length);
  // The port is the second 16-bit word of both sockaddr_in and sockaddr_in6.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  uint16_t port = 0;
  std::memcpy(&port, reinterpret_cast<const char*>(&storage) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

// A listener, or the errno of the failure.
struct Attempt {
  Listener listener;
  int error = 0;
};

Attempt TryListen(const sockaddr* address, socklen_t length) {
  const int family = address->sa_family;
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) {
    return {.listener = {}, .error = errno};
  }
  // A restart must not wait until connections of the previous run time out. Two listeners on one
  // port are still refused.
  const int on = 1;
  const int off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket.get(), address, length) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return {.listener = {}, .error = errno};
  }
  const uint16_t port = BoundPort(socket.get());
  return {.listener = {.socket = std::move(socket), .port = port, .family = family, .file = {}},
          .error = 0};
}

Attempt TryListenEverywhere(uint16_t port) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_any;
  Attempt attempt = TryListen(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  if (attempt.error != EAFNOSUPPORT && attempt.error != EADDRNOTAVAIL) {
    return attempt;
  }
  // This machine has no IPv6.
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_ANY);
  return TryListen(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
}

StatusOr<Attempt> TryListenOnHost(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (result != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: host \"%s\" cannot be resolved (%s). Write an address of this machine",
                        ToString(address), address.host, ::gai_strerror(result)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  Attempt attempt;
  for (const addrinfo* candidate = found; candidate != nullptr; candidate = candidate->ai_next) {
    attempt = TryListen(candidate->ai_addr, candidate->ai_addrlen);
    if (attempt.error == 0 || attempt.error == EADDRINUSE) {
      break;
    }
  }
  return attempt;
}

}  // namespace

StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "address %s %s. Write HOST:PORT, [V6]:PORT, :PORT or unix:/PATH, such as :9400",
        Quoted(text), why));
  };
  if (text.starts_with(kUnixScheme)) {
    std::string_view path = text.substr(kUnixScheme.size());
    path.remove_prefix(path.starts_with("///") ? 2 : 0);  // Accepts URL form.
    if (!path.starts_with('/') || path.starts_with("//") || path.ends_with('/') ||
        path.find('\0') != std::string_view::npos) {
      return refuse("has no absolute path");
    }
    return ListenAddress{.host = {}, .port = 0, .path = std::string(path)};
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) {
    return refuse("has no port");
  }
  const std::optional<uint64_t> port = ParseDecimal(text.substr(colon + 1));
  if (!port || *port > UINT16_MAX) {
    return refuse("has no port from 0 to 65535");
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("has an IPv6 host without brackets");
  }
  const auto is_strange = [](char c) {
    return c <= ' ' || c >= 0x7F || c == '[' || c == ']' || c == '/';
  };
  if (std::ranges::any_of(host, is_strange)) {
    return refuse("has no valid host");
  }
  return ListenAddress{.host = std::string(host), .port = static_cast<uint16_t>(*port), .path = {}};
}

std::string ToString(const ListenAddress& address) {
  if (!address.path.empty()) {
    return absl::StrFormat("%s%s", kUnixScheme, address.path);
  }
  // "unix:1" would be a socket file.
  const bool needs_brackets =
      address.host.find(':') != std::string::npos || address.host + ":" == kUnixScheme;
  return needs_brackets ? absl::StrFormat("[%s]:%d", address.host, address.port)
                        : absl::StrFormat("%s:%d", address.host, address.port);
}

StatusOr<Listener> Listen(const ListenAddress& address, const Files& files) {
  if (!address.path.empty()) {
    PODGPU_ASSIGN_OR_RETURN(PathListener made, ListenOnPath(address.path, kBacklog));
    return Listener{std::move(made.socket), 0, AF_UNIX, std::move(made.file)};
  }
  Attempt attempt;
  if (address.host.empty()) {
    attempt = TryListenEverywhere(address.port);
  } else {
    PODGPU_ASSIGN_OR_RETURN(attempt, TryListenOnHost(address));
  }
  if (attempt.error != 0) {
    return BindError(address, attempt.error, files);
  }
  return std::move(attempt.listener);
}

StatusOr<Listener> AdoptListener(int descriptor) {
  const auto option = [&](int name) {
    int value = -1;
    socklen_t length = sizeof value;
    return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
  };
  const int family = option(SO_DOMAIN);
  const bool is_known = family == AF_INET || family == AF_INET6 || family == AF_UNIX;
  if (option(SO_ACCEPTCONN) != 1 || option(SO_TYPE) != SOCK_STREAM || !is_known) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the socket from systemd (descriptor %d) does not listen for streams. Use "
                        "ListenStream= and Accept=no in the .socket unit",
                        descriptor));
  }
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  const uint16_t port = family == AF_UNIX ? uint16_t{0} : BoundPort(descriptor);
  return Listener{FileDescriptor(descriptor), port, family, SocketFile()};
}

std::optional<std::string> FindPortOwner(const Files& files, uint16_t port) {
  const std::set<std::string> sockets = ListeningSockets(files, port);
  const StatusOr<std::vector<std::string>> entries = files.List("/proc");
  if (sockets.empty() || !entries.ok()) {
    return std::nullopt;
  }
  for (const std::string& entry : *entries) {
    const std::string process = "/proc/" + entry;
    if (!ParseDecimal(entry) || !HoldsOneOf(files, process, sockets)) {
      continue;
    }
    const StatusOr<std::string> name = files.Read(process + "/comm");
    return name.ok() ? absl::StrFormat("%s (pid %s)", Trim(*name), entry)
                     : absl::StrFormat("pid %s", entry);
  }
  return std::nullopt;
}

}  // namespace podgpu
