// A server of one request that answers with any bytes, and returns those of the request.
//
// For tests only; blocks its thread.
#pragma once

#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace podgpu {

enum class Reads { kAll, kHead };

// Takes one connection, reads a request, sends `answer` and closes.
inline std::string ServeBytes(int listener, std::string_view answer, Reads reads = Reads::kAll) {
  pollfd waits = {.fd = listener, .events = POLLIN, .revents = 0};
  ::poll(&waits, 1, -1);
  const FileDescriptor socket(::accept(listener, nullptr, nullptr));
  std::string request;
  char byte = 0;
  while (!request.ends_with("\r\n\r\n") && ::recv(socket.get(), &byte, 1, 0) == 1) {
    request += byte;
  }
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t at = request.find(kLength);
  if (at != request.npos && reads == Reads::kAll) {
    const std::string_view digits = std::string_view(request).substr(at + kLength.size());
    const size_t length = ParseDecimal(digits.substr(0, digits.find('\r'))).value_or(0);
    std::string body(length, '\0');
    const ssize_t count = ::recv(socket.get(), body.data(), length, MSG_WAITALL);
    request += body.substr(0, count < 0 ? 0 : static_cast<size_t>(count));
  }
  while (!answer.empty()) {
    const ssize_t count = ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    if (count <= 0) {
      break;
    }
    answer.remove_prefix(static_cast<size_t>(count));
  }
  return request;
}

}  // namespace podgpu
