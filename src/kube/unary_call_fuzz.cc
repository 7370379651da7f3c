// Plays the server of one unary call. The input decides whether its rest is sent over the socket
// byte by byte, or is the content of a correct server's answer: then it is framed here by hand,
// with every freedom that HTTP/2 allows (padding, continuation, pings, unknown frames). Invariants:
// the call always ends; a reply is within the limit; an error is one of four and one line of valid
// text, also for a second call over the same connection; two divisions of the same bytes that both
// give a reply give the same reply; the content of a correct answer arrives unchanged. There is no
// waiting: all bytes and the end of the connection are in the socket before the call begins. A
// seqpacket socket keeps the divisions between its records.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include "base/file_descriptor.h"
#include "base/percent.h"
#include "base/text.h"
#include "kube/unary_call.h"

namespace podgpu {
namespace {

constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMostPieces = 48;  // A socket holds only a few records, even small ones.

class StillClock final : public Clock {
 public:
  Instant Now() const override { return {}; }
  WallTime WallNow() const override { return {}; }

 private:
  bool Wait(Instant /*deadline*/, const std::stop_token& /*stop*/, Wakeup* /*wakeup*/) override {
    std::abort();  // A call waits only for its socket.
  }
};

void CheckResult(const StatusOr<UnaryReply>& reply) {
  if (reply.ok()) {
    PODGPU_CHECK(reply->message.size() <= kMaxMessageBytes);
    PODGPU_CHECK(reply->code == absl::StatusCode::kOk || reply->message.empty());
    return;
  }
  const absl::StatusCode code = reply.status().code();
  PODGPU_CHECK(code == absl::StatusCode::kUnavailable || code == absl::StatusCode::kDataLoss ||
               code == absl::StatusCode::kResourceExhausted);
  const std::string message(reply.status().message());
  PODGPU_CHECK(!message.empty() && message.size() < 400 && CleanUtf8(message) == message);
  PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
}

// Makes the call to a server that sends `bytes`, `piece_bytes` at a time as far as possible, and
// then nothing more.
StatusOr<UnaryReply> CallAgainst(std::string_view bytes, size_t piece_bytes) {
  int ends[2] = {-1, -1};
  PODGPU_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  for (size_t pieces = 1; !bytes.empty(); ++pieces) {
    const std::string_view piece = pieces < kMostPieces ? bytes.substr(0, piece_bytes) : bytes;
    PODGPU_CHECK(::send(theirs.get(), piece.data(), piece.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(piece.size()));
    bytes.remove_prefix(piece.size());
  }
  ::shutdown(theirs.get(), SHUT_WR);
  UnaryConnection connection(std::move(ours), kMaxMessageBytes);
  const StillClock clock;
  const auto call = [&] {
    return connection.Call("/v1.PodResourcesLister/List", Instant(std::chrono::seconds(5)), clock);
  };
  StatusOr<UnaryReply> reply = call();
  if (connection.is_usable()) {
    CheckResult(call());
  }
  return reply;
}

bool AreEqual(const UnaryReply& a, const UnaryReply& b) {
  return a.code == b.code && a.text == b.text && a.message == b.message;
}

// -- a server in order (RFC 9113, RFC 7541: literals without indexing or Huffman's code)

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9,
  kUnknownType = 0xFA
};
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr uint8_t kPadded = 8;

std::string Frame(FrameType type, uint8_t flags, uint8_t stream, std::string_view payload) {
  std::string frame;
  for (const size_t byte : {payload.size() >> 16, payload.size() >> 8, payload.size()}) {
    frame += static_cast<char>(byte & 0xFF);
  }
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame += std::string(3, '\0') + static_cast<char>(stream);
  return frame + std::string(payload);
}

std::string Literal(std::string_view name, std::string_view value) {
  PODGPU_CHECK(name.size() < 127 && value.size() < 127);
  std::string field(1, '\0');
  for (const std::string_view text : {name, value}) {
    field += static_cast<char>(text.size());
    field += text;
  }
  return field;
}

class Server {
 public:
  explicit Server(std::string_view choices) : choices_(choices) {
    reply_.code = static_cast<absl::StatusCode>(Byte() % 17);
    text_ = Bytes(Byte() % 40);
    said_ = Bytes(Byte() % 200);
  }

  // Returns everything that it sends, including a normal end of the stream.
  std::string Speak() {
    std::string wire = Frame(kSettings, 0, 0, "");
    Digress(wire);
    wire +=
        HeaderFrames(Literal(":status", "200") + Literal("content-type", "application/grpc"), 0);
    std::string body = {'\0', '\0', '\0', '\0', static_cast<char>(said_.size())};
    body += said_;
    while (!body.empty()) {
      Digress(wire);
      const std::string piece = body.substr(0, 1 + Byte() % 64);
      body.erase(0, piece.size());
      const uint8_t padding = Byte() % 8;
      wire += padding == 0 ? Frame(kData, 0, 1, piece)
                           : Frame(kData, kPadded, 1,
                                   static_cast<char>(padding) + piece + std::string(padding, '\0'));
    }
    Digress(wire);
    wire += HeaderFrames(Literal("grpc-status", std::to_string(static_cast<int>(reply_.code))) +
                             Literal("grpc-message", PercentEncode(text_)),
                         kEndStream);
    return wire;
  }

  // The result that the call must return.
  UnaryReply expected() const {
    return {.code = reply_.code,
            .text = text_,
            .message = reply_.code == absl::StatusCode::kOk ? said_ : std::string()};
  }

 private:
  uint8_t Byte() { return static_cast<uint8_t>(Bytes(1).append(1, '\0')[0]); }
  std::string Bytes(size_t count) {
    std::string bytes(choices_.substr(0, count));
    choices_.remove_prefix(bytes.size());
    return bytes;
  }

  // Adds frames that a server may send between any two frames of a stream.
  void Digress(std::string& wire) {
    switch (Byte() % 6) {
      case 1:
        wire += Frame(kPing, 0, 0, "12345678");
        break;
      case 2:
        wire += Frame(kWindowUpdate, 0, 0, std::string("\0\0\0\1", 4));
        break;
      case 3:
        wire += Frame(kUnknownType, Byte(), 0, "unknown frames are skipped");
        break;
      case 4:
        wire += Frame(kSettings, 0, 0, std::string("\0\3\0\0\0\7", 6));
        break;
      default:
        break;
    }
  }

  // One header block, in one frame or two.
  std::string HeaderFrames(const std::string& block, uint8_t flags) {
    const size_t cut = Byte() % (block.size() + 1);
    if (cut == block.size()) {
      return Frame(kHeaders, flags | kEndHeaders, 1, block);
    }
    return Frame(kHeaders, flags, 1, block.substr(0, cut)) +
           Frame(kContinuation, kEndHeaders, 1, block.substr(cut));
  }

  std::string_view choices_;
  UnaryReply reply_;
  std::string text_;
  std::string said_;
};

void CheckServerInOrder(std::string_view choices) {
  Server server(choices);
  const std::string wire = server.Speak();
  // Not single bytes: nghttp2 1.52.0-1+deb12u3 counts each piece of a CONTINUATION's head as a
  // frame, and refuses more than 8 of them as a flood.
  for (const size_t piece_bytes : {wire.size(), wire.size() / kMostPieces + 2, size_t{2}}) {
    const StatusOr<UnaryReply> reply = CallAgainst(wire, piece_bytes);
    PODGPU_CHECK(reply.ok() && AreEqual(*reply, server.expected()));
  }
}

void CheckAnyBytes(std::string_view bytes) {
  const StatusOr<UnaryReply> whole = CallAgainst(bytes, bytes.size());
  CheckResult(whole);
  for (const size_t piece_bytes : {size_t{1}, size_t{9}, bytes.size() / 7 + 1}) {
    const StatusOr<UnaryReply> cut = CallAgainst(bytes, piece_bytes);
    CheckResult(cut);
    PODGPU_CHECK(!whole.ok() || !cut.ok() || AreEqual(*whole, *cut));
  }
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 65536) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's') {
    podgpu::CheckServerInOrder(rest);
  } else {
    podgpu::CheckAnyBytes(rest);
  }
  return 0;
}
