// A pod-resources server for tests: an HTTP/2 session of nghttp2 on a unix socket, in this process,
// that answers as its script says and can misbehave in every way that a client must survive.
//
// Not part of the program.  One thread serves one connection after the other until the object goes;
// what was asked is read after the calls have returned.
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

// How one call is answered.
struct FakeReply {
  std::string http_status = "200";
  std::string body;                              // gRPC frames, as they are.
  std::optional<std::string> grpc_status = "0";  // In the trailers.
  std::string grpc_message;
  bool headers_only = false;           // Status in the first and only block of headers.
  bool without_end = false;            // Never says that the call has ended.
  bool close = false;                  // Closes the connection instead of the trailers.
  bool ping = false;                   // Asks for a sign of life first, and waits for it.
  bool go_away = false;                // Refuses the call by GOAWAY.
  std::optional<uint32_t> reset_code;  // RST_STREAM instead of an answer.
  size_t frame_bytes = 16384;          // At most so many in one DATA frame.
};

using FakeHeaders = std::vector<std::pair<std::string, std::string>>;

class FakeKubeletServer {
 public:
  using Script = std::function<FakeReply(const std::string& path)>;
  using RawScript = std::function<void(int socket)>;

  FakeKubeletServer(const std::string& socket_path, Script script);
  // Leaves HTTP/2 aside and does with each connection what `raw` does.
  static std::unique_ptr<FakeKubeletServer> Raw(const std::string& socket_path, RawScript raw);
  FakeKubeletServer(const FakeKubeletServer&) = delete;
  FakeKubeletServer& operator=(const FakeKubeletServer&) = delete;
  ~FakeKubeletServer();

  // The headers of all requests so far, and the bytes of their bodies.
  std::vector<FakeHeaders> requests() const;
  std::string bodies() const;
  // The ":path" of each request.
  std::vector<std::string> paths() const;
  // How many connections there have been.
  size_t connections() const;
  // Ends the connection that is open now.
  void HangUp();

 private:
  class Server;
  explicit FakeKubeletServer(std::unique_ptr<Server> server);

  std::unique_ptr<Server> server_;
};

}  // namespace podgpu
