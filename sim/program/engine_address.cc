#include "sim/program/engine_address.h"

#include <cerrno>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

#include "base/file_descriptor.h"

namespace podgpu::sim {
namespace {

bool IsInUse(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  const FileDescriptor listener(
      socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, found->ai_protocol));
  // SO_REUSEADDR, as the server sets it: closed connections in TIME_WAIT do not matter.
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return (bind(listener.get(), found->ai_addr, found->ai_addrlen) != 0 ||
          listen(listener.get(), 1) != 0) &&
         errno == EADDRINUSE;
}

}  // namespace

std::string FreeAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return address;
  }
  const std::string host = address.substr(0, colon);
  return IsInUse(host, address.substr(colon + 1)) ? host + ":0" : address;
}

}  // namespace podgpu::sim
