// Bytes from a client, made into one request at a time, within limits.
//
// A RequestReader is fed what arrives and says when a request is complete, or with which status it
// must be refused: 400 for what is no HTTP/1.x request, 405 for a method that HTTP does not know,
// 413 for a body and 431 for a header above the limit, 417 for a client that waits to be asked for
// its body, 501 for a body in any transfer coding but "chunked", whose end cannot be found.  Bodies
// are read past, never kept.  How the bytes are cut into pieces makes no difference.  It knows no
// sockets, so the fuzz target drives exactly what the server uses.  One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

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

  // Takes bytes from the front of `bytes` and returns how many.  In state kIncomplete the rest must
  // be offered again, followed by what arrives next; in state kComplete the rest belongs to the
  // next request.
  size_t Feed(std::string_view bytes);

  State state() const { return state_; }

  // Forgets the request and waits for the next one.  Views of request() end here.
  void Reset();

  // The following hold in state kComplete.
  HttpRequest request() const;
  bool keep_alive() const;   // The client wants to go on using the connection.
  bool is_http_1_0() const;  // Such a client must be told that the connection stays open.

  // In state kRefused: the status to answer with.
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
