// One connection to the API server: TLS, and requests one after the other.
//
// The server must show a certificate of the cluster's own authority for the requested host; no
// other authority is accepted, unless ApiServerOptions::verifies is false. Every step has a
// deadline and ends when stop is requested. Used by one thread, which blocks in the calls.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "kube/api_server.h"

namespace podgpu {

// The head of an answer.
struct ApiHead {
  int status = 0;
  std::optional<std::chrono::seconds> retry_after;
};

// One request to the API server.
struct ApiCall {
  std::string_view method = "GET";  // GET, POST or PATCH.
  std::string target;
  std::string_view accept = "application/json";
  std::string_view content_type = "application/json";  // Media type of `body`.
  std::string body{};                                  // Empty: none.
};

class ApiConnection {
 public:
  // Connects and does the TLS handshake. kNotFound or kPermissionDenied: the certificate cannot be
  // read. kUnavailable, kDeadlineExceeded. kUnauthenticated: the server's certificate is not valid.
  // kCancelled: stop was requested.
  static StatusOr<std::unique_ptr<ApiConnection>> Open(const ApiServerOptions& server,
                                                       const Files& files,
                                                       const std::stop_token& stop);

  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;
  ~ApiConnection();

  // Sends a GET request; reads the token file for each request. `accept` is the media type.
  StatusOr<ApiHead> Get(const std::string& target, std::string_view accept);

  // Sends a request of any kind in the same way.
  StatusOr<ApiHead> Send(const ApiCall& call);

  // Returns the next bytes of the body, empty at its end; kDeadlineExceeded when none arrive within
  // `patience`. Valid until the next call.
  StatusOr<std::string_view> Read(std::chrono::milliseconds patience);

  // Returns the whole body; kResourceExhausted above `max_bytes`.
  StatusOr<std::string> ReadAll(size_t max_bytes, std::chrono::milliseconds patience);

 private:
  class Wire;  // Hides Asio and OpenSSL from this header.
  explicit ApiConnection(std::unique_ptr<Wire> wire);

  std::unique_ptr<Wire> wire_;
};

}  // namespace podgpu
