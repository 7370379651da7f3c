// Parses bytes from a client to one request at a time, within limits.
//
// The caller feeds received bytes; the reader tells when a request is complete, or with which
// status to refuse it: 400 for anything but an HTTP/1.x request, 405 for an unknown method, 413 for
// a body and 431 for a header above the limit, 417 for a client that waits for permission to send
// its body, 501 for a transfer coding other than "chunked", because the end of the body cannot be
// found. Bodies are skipped, never stored. The division of the bytes into pieces makes no
// difference. It knows no sockets, so the fuzz target tests exactly the server's code. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace podgpu {

struct RequestLimits {
  size_t max_header_bytes = 16384;
  uint64_t max_body_bytes = 65536;
};

class RequestReader {
 public:
  enum class State : uint8_t { kIncomplete, kComplete, kRefused };

  explicit RequestReader(RequestLimits limits);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  // Takes bytes from the front of `bytes` and returns their number. In state kIncomplete, pass the
  // rest again together with the next bytes; in state kComplete, the rest belongs to the next
  // request.
  size_t Feed(std::string_view bytes);

  State state() const { return state_; }

  // Drops the request and waits for the next one. Views from request() become invalid.
  void Reset();

  // The next four are valid in state kComplete.
  HttpRequest request() const;
  std::vector<HttpHeader> headers() const;  // Valid until Reset.
  bool keep_alive() const;                  // The client wants to keep the connection.
  bool is_http_1_0() const;  // Such a client must be told that the connection stays open.

  // In state kRefused: the status of the answer.
  int refusal() const { return refusal_; }

 private:
  struct Parse;

  size_t Step(std::string_view bytes);
  bool HasKnownFraming();
  void Complete();
  void Refuse(int status);

  RequestLimits limits_;
  State state_ = State::kIncomplete;
  int refusal_ = 0;
  std::unique_ptr<Parse> parse_;  // Absent until the first byte of a request arrives.
};

}  // namespace podgpu
