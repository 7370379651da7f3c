// Unary gRPC calls over a connected socket, one after the other, with nghttp2.
//
// Made for the kubelet's List, whose request is empty: it takes about a megabyte and no threads;
// the gRPC library takes ten megabytes and eight threads. A call has a deadline and a limit for its
// answer. PING and SETTINGS are answered while a call runs; GOAWAY and RST_STREAM end it. The
// connection is kept between calls, because a new one costs more than a call. One thread; a call
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

// The server's answer.
struct UnaryReply {
  absl::StatusCode code = absl::StatusCode::kUnknown;  // grpc-status
  std::string text;                                    // grpc-message, decoded
  std::string message;  // The message of the answer, with code kOk only.
};

class UnaryConnection {
 public:
  // `socket` is connected and non-blocking. An answer must not be longer than `max_message_bytes`.
  UnaryConnection(FileDescriptor socket, size_t max_message_bytes);
  UnaryConnection(const UnaryConnection&) = delete;
  UnaryConnection& operator=(const UnaryConnection&) = delete;
  ~UnaryConnection();

  // Calls `path` ("/v1.PodResourcesLister/List"). Errors concern the transport: kUnavailable,
  // kDeadlineExceeded, kResourceExhausted, kDataLoss. Their messages begin with a verb, so the
  // caller puts the socket's name in front ("closed the connection ...").
  StatusOr<UnaryReply> Call(std::string_view path, Instant deadline, const Clock& clock);

  // Returns whether another call may be made: the last one ended normally and the server has not
  // sent GOAWAY. If the server has closed the connection since, only the next call notices
  // (kUnavailable).
  bool is_usable() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace podgpu
