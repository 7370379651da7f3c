// The gRPC message frame: reads the one message of an answer.
//
// Pure: bytes in, bytes out, no sockets. The length of a message is checked before memory is
// allocated for it. Format: gRPC's "gRPC over HTTP2" (PROTOCOL-HTTP2.md). One thread.
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

  // kDataLoss: compressed, which was not offered, or more than one message. kResourceExhausted:
  // above the limit; the error names both sizes.
  Status Feed(std::string_view bytes);

  // Returns whether the whole message has arrived.
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
