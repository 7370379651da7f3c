// From an address as people write it to a socket that listens: the part of the server that can be
// misconfigured.
//
// Accepts ":9400" (every address of the machine, IPv6 and IPv4 on one socket), "host:9400",
// "[::1]:9400" and "unix:/path"; port 0 lets the system choose.  Every error is kInvalidArgument,
// since an address is configuration, and names the address and what to do.  Called once per
// listener at start; may resolve a host name and so block.
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
  std::string path;  // Of a socket in the file system; host and port mean nothing then.
  bool operator==(const ListenAddress&) const = default;
};

StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// "host:port" again, with brackets where the host needs them, or "unix:/path".
std::string ToString(const ListenAddress& address);

struct Listener {
  FileDescriptor socket;  // Bound, listening, non-blocking.
  uint16_t port = 0;      // The one that is bound; 0 for a path.
  int family = 0;         // AF_INET6, AF_INET or AF_UNIX.
  SocketFile file;        // Of a path; removed with the listener.
};

// Binds and listens.  `files` is the file system in whose /proc the owner of a taken port is
// looked up for the message.
StatusOr<Listener> Listen(const ListenAddress& address, const Files& files);

// A socket that is bound and listens already, whoever made it.
StatusOr<Listener> AdoptListener(int descriptor);

// "dcgm-exporter (pid 2211)": the process that listens on TCP port `port`, found through /proc;
// nothing where it cannot be seen (another user's process, another namespace).
std::optional<std::string> FindPortOwner(const Files& files, uint16_t port);

}  // namespace podgpu
