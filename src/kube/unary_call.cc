#include "kube/unary_call.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include <nghttp2/nghttp2.h>

#include "base/percent.h"
#include "base/text.h"
#include "kube/grpc_message.h"

namespace podgpu {
namespace {

constexpr size_t kReadBytes = 16384;              // The largest frame that a server may send.
constexpr uint32_t kSmallestWindow = 65535;       // HTTP/2's initial value.
constexpr uint32_t kLargestWindow = 0x7FFF'FFFF;  // RFC 9113, 6.9.1.
// Limit for a response, whose grpc-message is a sentence.
constexpr uint32_t kMaxHeaderListBytes = 16384;
constexpr size_t kPrefixBytes = 5;  // Prefix of a gRPC message; an empty one is nothing else.

nghttp2_nv Header(std::string_view name, std::string_view value) {
  // nghttp2 copies names and values and never writes to them.
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

Status ClosedError() { return absl::UnavailableError("closed the connection before it answered"); }

Status NoHttp2Error() { return absl::DataLossError("does not speak HTTP/2"); }

}  // namespace

// The HTTP/2 session of a connection and the current call. nghttp2 calls back into it from Receive.
class UnaryConnection::Session {
 public:
  Session(FileDescriptor socket, size_t max_message_bytes)
      : socket_(std::move(socket)), max_message_bytes_(max_message_bytes) {
    Open();
    SubmitSettings();
  }

  StatusOr<UnaryReply> Call(std::string_view path, Instant deadline, const Clock& clock) {
    usable_ = false;
    call_ = CallState(max_message_bytes_);
    SubmitRequest(path, MillisecondsUntil(deadline, clock));
    PODGPU_RETURN_IF_ERROR(RunCall(deadline, clock));
    StatusOr<UnaryReply> reply = Result();
    // Other frames (a window update, an answer to PING) are sent at once, not with the next call.
    usable_ = reply.ok() && call_.in_order && Send().ok() &&
              nghttp2_session_check_request_allowed(session_.get()) != 0;
    return reply;
  }

  bool is_usable() const { return usable_; }

 private:
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
    void operator()(nghttp2_session_callbacks* callbacks) const {
      nghttp2_session_callbacks_del(callbacks);
    }
  };

  static Session& From(void* user_data) { return *static_cast<Session*>(user_data); }

  void Open() {
    nghttp2_session_callbacks* raw_callbacks = nullptr;
    PODGPU_CHECK(nghttp2_session_callbacks_new(&raw_callbacks) == 0);
    const std::unique_ptr<nghttp2_session_callbacks, Delete> callbacks(raw_callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(raw_callbacks, &OnBeginHeaders);
    nghttp2_session_callbacks_set_on_header_callback(raw_callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(raw_callbacks, &OnFrame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(raw_callbacks, &OnData);
    nghttp2_session_callbacks_set_on_stream_close_callback(raw_callbacks, &OnStreamClose);
    nghttp2_session* raw_session = nullptr;
    PODGPU_CHECK(nghttp2_session_client_new(&raw_session, raw_callbacks, this) == 0);
    session_.reset(raw_session);
  }

  // Sends preface and settings. Both windows fit the longest answer, so the server never waits for
  // a window update.
  void SubmitSettings() {
    const auto window = static_cast<uint32_t>(
        std::clamp<size_t>(max_message_bytes_ + kPrefixBytes, kSmallestWindow, kLargestWindow));
    const std::array settings = {
        nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderListBytes},
    };
    PODGPU_CHECK(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(),
                                         settings.size()) == 0);
    PODGPU_CHECK(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                                       static_cast<int32_t>(window)) == 0);
  }

  void SubmitRequest(std::string_view path, int64_t timeout_ms) {
    const std::string timeout = absl::StrFormat("%dm", std::max<int64_t>(1, timeout_ms));
    const std::array headers = {
        Header(":method", "POST"),
        Header(":scheme", "http"),
        Header(":path", path),
        Header(":authority", "localhost"),
        Header("content-type", "application/grpc"),
        Header("te", "trailers"),
        Header("grpc-timeout", timeout),
        Header("user-agent", "podgpu"),
    };
    nghttp2_data_provider empty_message{};
    empty_message.read_callback = [](nghttp2_session*, int32_t, uint8_t* buffer, size_t,
                                     uint32_t* flags, nghttp2_data_source*, void*) -> ssize_t {
      std::fill_n(buffer, kPrefixBytes, uint8_t{0});
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      return kPrefixBytes;
    };
    call_.stream = nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(),
                                          &empty_message, nullptr);
    PODGPU_CHECK(call_.stream > 0);
  }

  // Runs the call to its end.
  Status RunCall(Instant deadline, const Clock& clock) {
    while (!call_.ended && call_.failure.ok()) {
      PODGPU_RETURN_IF_ERROR(Send());
      if (call_.ended) {
        break;  // Our own RST_STREAM ended it: the server broke a rule of HTTP/2.
      }
      if (nghttp2_session_want_read(session_.get()) == 0) {
        return NoHttp2Error();  // The server answered with another protocol and closed.
      }
      PODGPU_RETURN_IF_ERROR(AwaitSocket(MillisecondsUntil(deadline, clock)));
      PODGPU_RETURN_IF_ERROR(Receive());
    }
    return absl::OkStatus();
  }

  // Sends nghttp2's pending data, as much as the socket accepts.
  Status Send() {
    const uint8_t* bytes = nullptr;
    while (const ssize_t count = nghttp2_session_mem_send(session_.get(), &bytes)) {
      if (count < 0) {
        return absl::DataLossError("made the HTTP/2 session fail");
      }
      unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
    }
    while (!unsent_.empty()) {
      const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count < 0) {
        // A server may answer and close without reading on; its answer must still be read.
        return absl::OkStatus();
      }
      unsent_.erase(0, static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

  Status AwaitSocket(int64_t left_ms) const {
    if (left_ms <= 0) {
      return absl::DeadlineExceededError("has not answered");
    }
    pollfd wait{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (!unsent_.empty()) {
      wait.events = POLLIN | POLLOUT;
    }
    ::poll(&wait, 1, static_cast<int>(std::min<int64_t>(left_ms, INT32_MAX)));
    return absl::OkStatus();
  }

  Status Receive() {
    const ssize_t count = ::recv(socket_.get(), received_.data(), received_.size(), 0);
    if (count < 0) {
      return errno == EAGAIN || errno == EINTR ? absl::OkStatus() : ClosedError();
    }
    if (count == 0) {
      return ClosedError();
    }
    const ssize_t used =
        nghttp2_session_mem_recv(session_.get(), received_.data(), static_cast<size_t>(count));
    if (used < 0 && !call_.ended) {
      return NoHttp2Error();
    }
    return absl::OkStatus();
  }

  StatusOr<UnaryReply> Result() {
    PODGPU_RETURN_IF_ERROR(call_.failure);
    if (!call_.last.grpc_status) {
      return WithoutStatus();
    }
    const std::optional<uint64_t> number = ParseDecimal(*call_.last.grpc_status);
    UnaryReply reply;
    reply.code = number && *number <= static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)
                     ? static_cast<absl::StatusCode>(*number)
                     : absl::StatusCode::kUnknown;
    reply.text = PercentDecode(call_.last.grpc_message);
    if (reply.code == absl::StatusCode::kOk) {
      if (!call_.reader.complete()) {
        return absl::DataLossError("ended the call without error, but without a complete message");
      }
      reply.message = call_.reader.Take();
    }
    return reply;
  }

  // The error of a call that ended without grpc-status.
  Status WithoutStatus() const {
    if (call_.reset_code != NGHTTP2_NO_ERROR) {
      return absl::UnavailableError(
          absl::StrFormat("reset the call (HTTP/2 %s)", nghttp2_http2_strerror(call_.reset_code)));
    }
    if (!call_.http_status.empty() && call_.http_status != "200") {
      return absl::UnavailableError(
          absl::StrFormat("answered HTTP %s, which is not gRPC", CleanUtf8(call_.http_status)));
    }
    return absl::DataLossError("ended the call without grpc-status");
  }

  // Rounded up, so that the wait never ends just before the deadline.
  static int64_t MillisecondsUntil(Instant deadline, const Clock& clock) {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now()).count();
  }

  static int OnBeginHeaders(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                            void* user_data) {
    From(user_data).call_.block = {};
    return 0;
  }

  // NOLINTNEXTLINE(readability-function-size): nghttp2 hands over so many.
  static int OnHeader(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/,
                      const uint8_t* name_bytes, size_t name_size, const uint8_t* value_bytes,
                      size_t value_size, uint8_t /*flags*/, void* user_data) {
    Block& block = From(user_data).call_.block;
    const std::string_view name(reinterpret_cast<const char*>(name_bytes), name_size);
    const std::string_view value(reinterpret_cast<const char*>(value_bytes), value_size);
    if (name == ":status") {
      block.http_status = value;
    } else if (name == "grpc-status") {
      block.grpc_status = value;
    } else if (name == "grpc-message") {
      block.grpc_message = value;
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user_data) {
    Session& self = From(user_data);
    if (frame->hd.stream_id != self.call_.stream) {
      return 0;
    }
    if (frame->hd.type == NGHTTP2_HEADERS && !self.call_.block.http_status.empty()) {
      self.call_.http_status = self.call_.block.http_status;
    }
    // A block that ends the stream is the trailers, or the only block ("headers only").
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      self.call_.last = frame->hd.type == NGHTTP2_HEADERS ? self.call_.block : Block{};
      self.call_.ended = true;
      self.call_.in_order = true;
    }
    return 0;
  }

  static int OnData(nghttp2_session* /*session*/, uint8_t /*flags*/, int32_t stream,
                    const uint8_t* bytes, size_t size, void* user_data) {
    Session& self = From(user_data);
    if (stream == self.call_.stream && self.call_.failure.ok() && self.call_.http_status == "200") {
      self.call_.failure = self.call_.reader.Feed({reinterpret_cast<const char*>(bytes), size});
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session* /*session*/, int32_t stream, uint32_t code,
                           void* user_data) {
    Session& self = From(user_data);
    if (stream == self.call_.stream && !self.call_.ended) {
      self.call_.reset_code = code;
      self.call_.ended = true;
    }
    return 0;
  }

  // The relevant headers of one block.
  struct Block {
    std::string http_status;
    std::optional<std::string> grpc_status;
    std::string grpc_message;
  };
  struct CallState {
    explicit CallState(size_t max_message_bytes) : reader(max_message_bytes) {}

    int32_t stream = 0;
    GrpcMessageReader reader;
    Status failure;  // The problem with the message.
    Block block;     // The headers being received.
    Block last;      // The block that ended the stream.
    std::string http_status;
    uint32_t reset_code = NGHTTP2_NO_ERROR;
    bool ended = false;
    bool in_order = false;  // The server has ended the stream normally.
  };

  const FileDescriptor socket_;
  const size_t max_message_bytes_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  std::string unsent_;
  // Not on the stack, where hardened builds fill it with zeros at each call.
  std::vector<uint8_t> received_ = std::vector<uint8_t>(kReadBytes);
  CallState call_{0};
  bool usable_ = true;
};

UnaryConnection::UnaryConnection(FileDescriptor socket, size_t max_message_bytes)
    : session_(std::make_unique<Session>(std::move(socket), max_message_bytes)) {}

UnaryConnection::~UnaryConnection() = default;

StatusOr<UnaryReply> UnaryConnection::Call(std::string_view path, Instant deadline,
                                           const Clock& clock) {
  return session_->Call(path, deadline, clock);
}

bool UnaryConnection::is_usable() const { return session_->is_usable(); }

}  // namespace podgpu
