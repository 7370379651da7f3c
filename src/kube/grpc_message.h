// The two encodings that gRPC puts around what it carries: the frame of a message, and the text of
// an error.
//
// Pure: bytes in, bytes out, no sockets.  The length of a message is judged before any memory is
// taken for it.  Formats as in gRPC's "gRPC over HTTP2" (PROTOCOL-HTTP2.md).  One thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Collects the one message of a unary call from pieces of any size.
class GrpcMessageReader {
 public:
  explicit GrpcMessageReader(size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // kDataLoss: compressed although nobody offered it, or more than one message;
  // kResourceExhausted: longer than the limit, with both sizes in the message.
  Status Feed(std::string_view bytes);

  // Whether the whole message is here.
  bool complete() const {
    return prefix_.size() == kPrefixBytes && message_.size() == length_bytes_;
  }

  // The message; valid once complete.
  std::string Take() { return std::move(message_); }

 private:
  static constexpr size_t kPrefixBytes = 5;  // Compressed flag, then the length, big-endian.

  Status ReadPrefix();

  size_t max_message_bytes_;
  std::string prefix_;
  size_t length_bytes_ = 0;
  std::string message_;
};

}  // namespace podgpu
