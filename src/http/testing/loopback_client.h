// A plain blocking HTTP client for tests and benchmarks of the server: POSIX sockets and a few
// lines of parsing, so that it shares no code with the server.
//
// Not part of the program. Every read times out after 30 s, far more than a passing test needs. One
// thread per client.
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace podgpu {

struct LoopbackResponse {
  int status = 0;    // 0: the connection ended before a complete response.
  std::string head;  // Status line and headers.
  std::string body;
};

class LoopbackClient {
 public:
  // `receive_buffer_bytes` above 0 makes the client's window small, to simulate a slow reader;
  // `from` is an address of 127.0.0.0/8, to simulate another machine.
  explicit LoopbackClient(uint16_t port, int receive_buffer_bytes = 0, const char* from = nullptr)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes > 0) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof receive_buffer_bytes);
    }
    const timeval limit = {.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (from != nullptr) {
      ::inet_pton(AF_INET, from, &address.sin_addr);
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }

  // Returns whether the system accepted all of `bytes`.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  bool Get(std::string_view path) {
    return Send("GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
  }

  // Ends sending; responses can still be read.
  void ShutDownSending() { ::shutdown(socket_.get(), SHUT_WR); }

  // Returns the next response; set `to_head` when the request was a HEAD.
  LoopbackResponse Read(bool to_head = false) {
    LoopbackResponse response;
    size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!Receive()) {
        return response;
      }
    }
    response.head = received_.substr(0, end + 4);
    received_.erase(0, end + 4);
    const size_t length_bytes = to_head ? 0 : ContentLength(response.head);
    while (received_.size() < length_bytes) {
      if (!Receive()) {
        return response;
      }
    }
    response.body = received_.substr(0, length_bytes);
    received_.erase(0, length_bytes);
    // "HTTP/1.1 200 OK"
    response.status =
        static_cast<int>(ParseDecimal(std::string_view(response.head).substr(9, 3)).value_or(0));
    return response;
  }

  LoopbackResponse Fetch(std::string_view path) {
    Get(path);
    return Read();
  }

  // Reads the next bytes into the client's buffer; returns false when the connection has ended.
  bool Receive() {
    char chunk[65536];
    const ssize_t count = ::recv(socket_.get(), chunk, sizeof chunk, 0);
    if (count <= 0) {
      return false;
    }
    received_.append(chunk, static_cast<size_t>(count));
    return true;
  }

  // Reads until the connection ends; returns true when the server closed it.
  bool AwaitEnd() {
    char chunk[65536];
    ssize_t count = 0;
    do {
      count = ::recv(socket_.get(), chunk, sizeof chunk, 0);
    } while (count > 0);
    return count == 0 || errno == ECONNRESET || errno == EPIPE;
  }

 private:
  static size_t ContentLength(const std::string& head) {
    static constexpr std::string_view kName = "\r\nContent-Length: ";
    const size_t at = head.find(kName);
    if (at == std::string::npos) {
      return 0;
    }
    const std::string_view value = std::string_view(head).substr(at + kName.size());
    return ParseDecimal(value.substr(0, value.find('\r'))).value_or(0);
  }

  FileDescriptor socket_;
  bool connected_ = false;
  std::string received_;
};

}  // namespace podgpu
