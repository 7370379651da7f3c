// The bytes that a client has received and its parser has not used yet.
//
// In place of Beast's own read operations, whose templates would make the clients the slowest
// sources to compile: a client receives into Room with an operation of Asio, and passes the outcome
// to Parse. Bytes after the end of an answer stay for the next answer. It knows no sockets and no
// deadlines. One thread.
#pragma once

#include <cstddef>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace podgpu {

class AnswerBytes {
 public:
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::basic_parser<false>;

  // Holds at most `max_bytes`.
  explicit AnswerBytes(size_t max_bytes) : bytes_(max_bytes) {}

  // Returns where to receive the next bytes; not empty after Parse has returned need_more.
  boost::asio::mutable_buffer Room();

  // Takes the `count` bytes that were received with `outcome`, and calls the parser once with all
  // unused bytes. Returns the outcome if it is a failure, else the parser's error: need_more when
  // it cannot go on without more bytes, buffer_overflow when there is no room for them, and
  // end_of_stream when the server has closed before the first byte.
  Error Parse(Parser& parser, Error outcome, size_t count);

 private:
  boost::beast::flat_buffer bytes_;
};

}  // namespace podgpu
