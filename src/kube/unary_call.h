// Unary gRPC calls over a connected socket, one after the other, spoken with nghttp2.
//
// Made for the kubelet's List, whose request is empty: about a megabyte and no threads, where the
// gRPC library takes ten and eight.  A call is bounded in time as a whole and in the size of its
// answer.  PING and SETTINGS are answered whenever a call runs; GOAWAY and RST_STREAM end it. The
// connection is kept between calls, since making one costs more than a call.  One thread; a call
// blocks until the answer or the deadline.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"

namespace podgpu {

// What the server said.
struct UnaryReply {
  absl::StatusCode code = absl::StatusCode::kUnknown;  // grpc-status
  std::string text;                                    // grpc-message, decoded
  std::string message;                                 // With code kOk only.
};

class UnaryConnection {
 public:
  // `socket` is connected and non-blocking.  No answer may be longer than `max_message_bytes`.
  UnaryConnection(FileDescriptor socket, size_t max_message_bytes);
  UnaryConnection(const UnaryConnection&) = delete;
  UnaryConnection& operator=(const UnaryConnection&) = delete;
  ~UnaryConnection();

  // Calls `path` ("/v1.PodResourcesLister/List").  Errors are of the way to the answer:
  // kUnavailable, kDeadlineExceeded, kResourceExhausted, kDataLoss; their messages name no socket
  // and read on after its name ("closed the connection ...").
  StatusOr<UnaryReply> Call(std::string_view path, Instant deadline, const Clock& clock);

  // Whether another call may be made: the last one has ended in good order, and the server has not
  // said good-bye.  That it has closed the connection since shows at the next call only
  // (kUnavailable).
  bool is_usable() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace podgpu
