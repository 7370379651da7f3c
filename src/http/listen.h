// Makes a listening socket from an address in a flag: the part of the server that a user can
// misconfigure.
//
// Accepts ":9400" (every address of the machine, IPv6 and IPv4 on one socket), "host:9400",
// "[::1]:9400" and "unix:/path"; with port 0 the system chooses. Every error is kInvalidArgument,
// because an address is configuration, and names the address and the remedy. Called once per
// listener at start; may resolve a host name and therefore block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/status.h"
#include "http/socket_file.h"

namespace podgpu {

struct ListenAddress {
  std::string host;  // Empty for all addresses; without brackets.
  uint16_t port = 0;
  std::string path;  // Path of a Unix socket; then host and port are ignored.
  bool operator==(const ListenAddress&) const = default;
};

StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// Returns "host:port", with brackets if the host needs them, or "unix:/path".
std::string ToString(const ListenAddress& address);

struct Listener {
  FileDescriptor socket;  // Bound, listening, non-blocking.
  uint16_t port = 0;      // The bound port; 0 for a path.
  int family = 0;         // AF_INET6, AF_INET or AF_UNIX.
  SocketFile file;        // The socket file of a path; removed with the listener.
};

// Binds and listens. When the port is in use, looks its owner up in `files`' /proc for the message.
StatusOr<Listener> Listen(const ListenAddress& address, const Files& files);

// Takes over a socket that is already bound and listening.
StatusOr<Listener> AdoptListener(int descriptor);

// Returns "dcgm-exporter (pid 2211)": the process that listens on TCP port `port`, found through
// /proc. Returns nothing when it is not visible (another user's process, another namespace).
std::optional<std::string> FindPortOwner(const Files& files, uint16_t port);

}  // namespace podgpu
