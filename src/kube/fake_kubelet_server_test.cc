// The implementation of the fake kubelet; in a test file, so only tests contain it.
#include "kube/testing/fake_kubelet_server.h"

#include <algorithm>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <nghttp2/nghttp2.h>

#include "base/file_descriptor.h"
#include "base/mutex.h"

namespace podgpu {

class FakeKubeletServer::Server {
 public:
  Server(const std::string& socket_path, Script script, RawScript raw)
      : script_(std::move(script)), raw_(std::move(raw)) {
    Listen(socket_path);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    HangUp();
  }

  // Closes the open connection, like a server that stops.
  void HangUp() {
    const MutexLock lock(mutex_);
    if (open_connection_ >= 0) {
      ::shutdown(open_connection_, SHUT_RDWR);
    }
  }
  size_t connections() const {
    const MutexLock lock(mutex_);
    return connections_;
  }

  std::vector<FakeHeaders> requests() const {
    const MutexLock lock(mutex_);
    return requests_;
  }
  std::string bodies() const {
    const MutexLock lock(mutex_);
    return bodies_;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const FakeHeaders& headers : requests()) {
      for (const auto& [name, value] : headers) {
        if (name == ":path") {
          paths.push_back(value);
        }
      }
    }
    return paths;
  }

 private:
  void Listen(const std::string& socket_path) {
    listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listener_.get(), 8);
    thread_ = std::jthread([this] { Serve(); });
  }

  void Serve() {
    while (true) {
      const FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection.is_open()) {
        return;
      }
      Note(connection.get());
      if (raw_) {
        raw_(connection.get());
      } else {
        ServeHttp2(connection.get());
      }
      Note(-1);
    }
  }

  void Note(int connection) {
    const MutexLock lock(mutex_);
    open_connection_ = connection;
    connections_ += connection >= 0 ? 1U : 0U;
    if (stopping_ && connection >= 0) {
      ::shutdown(connection, SHUT_RDWR);
    }
  }

  void ServeHttp2(int connection) {
    connection_ = connection;
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_send_callback(callbacks, &OnSend);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session* session = nullptr;
    nghttp2_session_server_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
    closing_ = false;
    char bytes[65536];
    while (nghttp2_session_send(session) == 0 && !closing_) {
      const ssize_t count = ::recv(connection, bytes, sizeof bytes, 0);
      if (count <= 0 || nghttp2_session_mem_recv(session, reinterpret_cast<uint8_t*>(bytes),
                                                 static_cast<size_t>(count)) < 0) {
        break;
      }
    }
    nghttp2_session_del(session);
  }

  void Answer(nghttp2_session* session, int32_t stream) {
    if (reply_.go_away) {
      nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
      return;
    }
    if (reply_.reset_code) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, *reply_.reset_code);
      return;
    }
    std::vector<nghttp2_nv> headers = {Header(":status", reply_.http_status),
                                       Header("content-type", kContentType)};
    if (reply_.headers_only) {
      AppendStatus(headers);
      nghttp2_submit_response(session, stream, headers.data(), headers.size(), nullptr);
      return;
    }
    nghttp2_data_provider provider{};
    provider.read_callback = &OnRead;
    nghttp2_submit_response(session, stream, headers.data(), headers.size(), &provider);
  }

  void AppendStatus(std::vector<nghttp2_nv>& headers) const {
    if (reply_.grpc_status) {
      headers.push_back(Header("grpc-status", *reply_.grpc_status));
      headers.push_back(Header("grpc-message", reply_.grpc_message));
    }
  }

  static nghttp2_nv Header(std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view text) {
      return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }

  static Server& From(void* user_data) { return *static_cast<Server*>(user_data); }

  static ssize_t OnSend(nghttp2_session* /*session*/, const uint8_t* bytes, size_t size,
                        int /*flags*/, void* user_data) {
    const ssize_t count = ::send(From(user_data).connection_, bytes, size, MSG_NOSIGNAL);
    return count < 0 ? ssize_t{NGHTTP2_ERR_CALLBACK_FAILURE} : count;
  }

  static int OnBeginHeaders(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                            void* user_data) {
    Server& self = From(user_data);
    const MutexLock lock(self.mutex_);
    self.requests_.emplace_back();
    return 0;
  }

  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                      const uint8_t* name, size_t name_size, const uint8_t* value,
                      size_t value_size, uint8_t /*flags*/, void* user_data) {
    Server& self = From(user_data);
    const MutexLock lock(self.mutex_);
    self.requests_.back().emplace_back(
        std::string(reinterpret_cast<const char*>(name), name_size),
        std::string(reinterpret_cast<const char*>(value), value_size));
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, uint8_t /*flags*/, int32_t /*stream*/,
                    const uint8_t* bytes, size_t size, void* user_data) {
    Server& self = From(user_data);
    const MutexLock lock(self.mutex_);
    self.bodies_.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    Server& self = From(user_data);
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    const bool is_pong =
        frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.stream_id > 0 && ends) {
      self.stream_ = frame->hd.stream_id;
      self.reply_ = self.script_(self.paths().back());
      self.sent_ = 0;
      if (self.reply_.ping) {
        nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, nullptr);
        return 0;
      }
      self.Answer(session, self.stream_);
    } else if (is_pong) {
      self.Answer(session, self.stream_);
    }
    return 0;
  }

  static ssize_t OnRead(nghttp2_session* session, int32_t stream, uint8_t* buffer, size_t room,
                        uint32_t* flags, nghttp2_data_source* /*source*/, void* user_data) {
    Server& self = From(user_data);
    const std::string& body = self.reply_.body;
    const size_t count = std::min({room, self.reply_.frame_bytes, body.size() - self.sent_});
    body.copy(reinterpret_cast<char*>(buffer), count, self.sent_);
    self.sent_ += count;
    if (self.sent_ < body.size()) {
      return static_cast<ssize_t>(count);
    }
    if (self.reply_.close || self.reply_.without_end) {
      self.closing_ = self.reply_.close;
      return count > 0 ? static_cast<ssize_t>(count) : ssize_t{NGHTTP2_ERR_DEFERRED};
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (self.reply_.grpc_status) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      std::vector<nghttp2_nv> trailers;
      self.AppendStatus(trailers);
      nghttp2_submit_trailer(session, stream, trailers.data(), trailers.size());
    }
    return static_cast<ssize_t>(count);
  }

  inline static const std::string kContentType = "application/grpc";

  Script script_;
  RawScript raw_;
  FileDescriptor listener_;
  int connection_ = -1;
  int32_t stream_ = 0;
  FakeReply reply_;
  size_t sent_ = 0;       // Bytes of the body.
  bool closing_ = false;  // Set when all data has been sent.
  // Requests are written by the server's thread and read by the test's.
  mutable Mutex mutex_;
  std::vector<FakeHeaders> requests_ PODGPU_GUARDED_BY(mutex_);
  std::string bodies_ PODGPU_GUARDED_BY(mutex_);
  int open_connection_ PODGPU_GUARDED_BY(mutex_) = -1;
  size_t connections_ PODGPU_GUARDED_BY(mutex_) = 0;
  bool stopping_ PODGPU_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

FakeKubeletServer::FakeKubeletServer(const std::string& socket_path, Script script)
    : server_(std::make_unique<Server>(socket_path, std::move(script), nullptr)) {}

FakeKubeletServer::FakeKubeletServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}

std::unique_ptr<FakeKubeletServer> FakeKubeletServer::Raw(const std::string& socket_path,
                                                          RawScript raw) {
  auto server = std::make_unique<Server>(socket_path, nullptr, std::move(raw));
  return std::unique_ptr<FakeKubeletServer>(new FakeKubeletServer(std::move(server)));
}

FakeKubeletServer::~FakeKubeletServer() = default;

std::vector<FakeHeaders> FakeKubeletServer::requests() const { return server_->requests(); }
std::string FakeKubeletServer::bodies() const { return server_->bodies(); }
std::vector<std::string> FakeKubeletServer::paths() const { return server_->paths(); }

size_t FakeKubeletServer::connections() const { return server_->connections(); }
void FakeKubeletServer::HangUp() { server_->HangUp(); }

}  // namespace podgpu
