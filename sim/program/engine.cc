#include "sim/program/engine.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "sim/dcgm/engine_protocol.h"

namespace podgpu::sim {
namespace {

constexpr int kBacklog = 64;
constexpr size_t kMaxClients = 256;  // Connections over the limit are closed at once.

constexpr int kBusyPortPauseMs = 50;
constexpr int kBusyPortTries = 100;  // 5 s.

// One connected face and the received part of its request.
struct Client {
  FileDescriptor socket;
  std::array<char, sizeof(EngineRequest)> buffer{};
  size_t filled = 0;
};

std::string ErrnoText() { return std::generic_category().message(errno); }

FileDescriptor Refuse(const std::string& where, const std::string& why) {
  std::fprintf(stderr, "podgpu-sim engine: cannot listen on %s: %s\n", where.c_str(), why.c_str());
  return FileDescriptor(-1);
}

FileDescriptor ListenUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Refuse(path, "the path is longer than 107 bytes; use a shorter run directory");
  }
  path.copy(address.sun_path, path.size());
  FileDescriptor socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  unlink(path.c_str());  // A killed engine leaves its socket behind.
  if (bind(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(socket_fd.get(), kBacklog) != 0) {
    return Refuse(path, ErrnoText());
  }
  return socket_fd;
}

// Resolves "host:port" into addresses to listen on.
std::unique_ptr<addrinfo, void (*)(addrinfo*)> Resolve(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const size_t colon = address.rfind(':');
  if (colon != std::string::npos) {
    const std::string host = address.substr(0, colon);
    const std::string port = address.substr(colon + 1);
    if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
      found = nullptr;
    }
  }
  return {found, [](addrinfo* list) {
            if (list != nullptr) {
              freeaddrinfo(list);
            }
          }};
}

// Returns a socket that listens there; none with errno set.
FileDescriptor ListenAt(const addrinfo& there) {
  FileDescriptor socket_fd(
      socket(there.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, there.ai_protocol));
  const int on = 1;
  setsockopt(socket_fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool is_listening = bind(socket_fd.get(), there.ai_addr, there.ai_addrlen) == 0 &&
                            listen(socket_fd.get(), kBacklog) == 0;
  return is_listening ? std::move(socket_fd) : FileDescriptor(-1);
}

FileDescriptor ListenTcp(const std::string& address) {
  const auto found = Resolve(address);
  if (found == nullptr) {
    return Refuse(address, "not an address of the form host:port");
  }
  // The port of an engine that ended may be the local port of another program's connection.
  FileDescriptor listener = ListenAt(*found);
  for (int i = 0; i < kBusyPortTries && listener.get() < 0 && errno == EADDRINUSE; ++i) {
    poll(nullptr, 0, kBusyPortPauseMs);
    listener = ListenAt(*found);
  }
  return listener.get() >= 0 ? std::move(listener) : Refuse(address, ErrnoText());
}

// Formats the bound address as "host:port".
std::string BoundAddress(const FileDescriptor& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(listener.get(), generic, &length) != 0 ||
      getnameinfo(generic, length, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return std::string(host.data()) + ":" + port.data();
}

// Writes `engine.addr` in one step, so a reader finds a whole address or no file.
bool WriteAddress(const std::string& directory, const std::string& address) {
  const std::string path = directory + "/" + std::string(kEngineAddressName);
  const std::string temporary = path + ".tmp";
  const std::string line = address + "\n";
  bool written = false;
  {
    const FileDescriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                   0644));  // NOLINT(*-vararg)
    written = file.get() >= 0 &&
              write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  }
  return written && rename(temporary.c_str(), path.c_str()) == 0;
}

// Answers the requests received from `client`; false when it has disconnected or sent garbage.
bool Serve(Client& client, uint64_t generation) {
  const ssize_t count = recv(client.socket.get(), client.buffer.data() + client.filled,
                             client.buffer.size() - client.filled, MSG_DONTWAIT);
  if (count < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  client.filled += static_cast<size_t>(count);
  if (count == 0 || client.filled < client.buffer.size()) {
    return count != 0;
  }
  client.filled = 0;
  EngineRequest request{};
  std::memcpy(&request, client.buffer.data(), sizeof(request));
  if (request.magic != kEngineMagic) {
    return false;
  }
  if (request.call == kEngineCrashCall) {
    _exit(128 + 11);  // As a shell reports a segmentation fault.
  }
  const EngineReply reply{
      .magic = kEngineMagic, .number = request.number, .generation = generation};
  return send(client.socket.get(), &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof(reply));
}

void Accept(const FileDescriptor& listener, std::vector<Client>& clients) {
  FileDescriptor socket_fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket_fd.get() < 0 || clients.size() >= kMaxClients) {
    return;
  }
  const int on = 1;
  setsockopt(socket_fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // No-op for unix.
  clients.push_back(Client{.socket = std::move(socket_fd)});
}

// Polls listeners and clients until `stop_descriptor` is readable.
void ServeAll(const std::vector<FileDescriptor>& listeners, uint64_t generation,
              int stop_descriptor) {
  std::vector<Client> clients;
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign(1, pollfd{.fd = stop_descriptor, .events = POLLIN, .revents = 0});
    for (const FileDescriptor& listener : listeners) {
      polled.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
    }
    for (const Client& client : clients) {
      polled.push_back({.fd = client.socket.get(), .events = POLLIN, .revents = 0});
    }
    if (poll(polled.data(), polled.size(), -1) < 0) {
      continue;  // A signal interrupted the call; it has no other effect.
    }
    if (polled.front().revents != 0) {
      return;
    }
    const size_t first_client = 1 + listeners.size();
    for (size_t i = clients.size(); i-- > 0;) {
      if (polled[first_client + i].revents != 0 && !Serve(clients[i], generation)) {
        clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    for (size_t i = 0; i < listeners.size(); ++i) {
      if (polled[1 + i].revents != 0) {
        Accept(listeners[i], clients);
      }
    }
  }
}

}  // namespace

int RunEngine(const EngineOptions& options) {
  std::vector<FileDescriptor> listeners;
  if (!options.socket_name.empty()) {
    listeners.push_back(ListenUnix(options.run_directory + "/" + options.socket_name));
  }
  if (!options.tcp.empty()) {
    listeners.push_back(ListenTcp(options.tcp));
  }
  if (listeners.empty()) {
    std::fprintf(stderr,
                 "podgpu-sim engine: no address to listen on; give dcgm.engine.unix or tcp\n");
    return 2;
  }
  if (std::ranges::any_of(listeners, [](const FileDescriptor& d) { return d.get() < 0; })) {
    return 2;
  }
  if (!options.tcp.empty() &&
      !WriteAddress(options.run_directory, BoundAddress(listeners.back()))) {
    std::fprintf(stderr, "podgpu-sim engine: cannot write %s/%s: %s\n",
                 options.run_directory.c_str(), std::string(kEngineAddressName).c_str(),
                 ErrnoText().c_str());
    return 2;
  }
  if (options.on_listening) {
    options.on_listening();
  }
  ServeAll(listeners, options.generation, options.stop_descriptor);
  return 0;
}

}  // namespace podgpu::sim
