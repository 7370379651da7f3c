// A pod-resources server for tests: an HTTP/2 session of nghttp2 on a Unix socket, in this process.
// It answers as its script says and can misbehave in every way that a client must survive.
//
// Not part of the program. One thread serves one connection after the other until the object is
// destroyed; read the recorded requests after the calls have returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace podgpu {

// The answer to one call.
struct FakeReply {
  std::string http_status = "200";
  std::string body;                              // gRPC frames, sent unchanged.
  std::optional<std::string> grpc_status = "0";  // In the trailers.
  std::string grpc_message;
  bool headers_only = false;           // The status is in the first and only header block.
  bool without_end = false;            // Never ends the call.
  bool close = false;                  // Closes the connection instead of the trailers.
  bool ping = false;                   // Sends a PING first and waits for its answer.
  bool go_away = false;                // Refuses the call with GOAWAY.
  std::optional<uint32_t> reset_code;  // RST_STREAM instead of an answer.
  size_t frame_bytes = 16384;          // Maximum size of a DATA frame.
};

using FakeHeaders = std::vector<std::pair<std::string, std::string>>;

class FakeKubeletServer {
 public:
  using Script = std::function<FakeReply(const std::string& path)>;
  using RawScript = std::function<void(int socket)>;

  FakeKubeletServer(const std::string& socket_path, Script script);
  // Does not speak HTTP/2; calls `raw` for each connection.
  static std::unique_ptr<FakeKubeletServer> Raw(const std::string& socket_path, RawScript raw);
  FakeKubeletServer(const FakeKubeletServer&) = delete;
  FakeKubeletServer& operator=(const FakeKubeletServer&) = delete;
  ~FakeKubeletServer();

  // The headers of all requests so far, and the bytes of their bodies.
  std::vector<FakeHeaders> requests() const;
  std::string bodies() const;
  // The ":path" of each request.
  std::vector<std::string> paths() const;
  // Number of connections so far.
  size_t connections() const;
  // Closes the open connection.
  void HangUp();

 private:
  class Server;
  explicit FakeKubeletServer(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
};

}  // namespace podgpu
