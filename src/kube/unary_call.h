// One unary gRPC call over a connected socket, spoken with nghttp2.
//
// Made for the kubelet's List, whose request is empty: about a megabyte and no threads, where the
// gRPC library takes ten and eight.  The call is bounded in time as a whole and in the size of its
// answer.  PING and SETTINGS are answered, GOAWAY and RST_STREAM end the call; whoever asks next
// connects anew.  One thread; blocks until the answer or the deadline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace podgpu {

// What the server said.
struct UnaryReply {
  absl::StatusCode code = absl::StatusCode::kUnknown;  // grpc-status
  std::string text;                                    // grpc-message, decoded
  std::string message;                                 // With code kOk only.
};

struct UnaryCall {
  std::string_view path;  // "/v1.PodResourcesLister/List"
  Instant deadline;
  size_t max_message_bytes = 0;
};

// Calls over `socket`, which is connected and non-blocking and stays the caller's.  Errors are of
// the way to the answer: kUnavailable, kDeadlineExceeded, kResourceExhausted, kDataLoss; their
// messages name no socket and read on after its name ("closed the connection ...").
StatusOr<UnaryReply> CallUnary(int socket, const UnaryCall& call, const Clock& clock);

}  // namespace podgpu
