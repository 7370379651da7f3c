#include "http/answer_bytes.h"

#include <boost/asio/error.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/error.hpp>

namespace podgpu {

boost::asio::mutable_buffer AnswerBytes::Room() {
  constexpr size_t kMaxReadBytes = 65'536;
  return bytes_.prepare(boost::beast::read_size(bytes_, kMaxReadBytes));
}

AnswerBytes::Error AnswerBytes::Parse(Parser& parser, Error outcome, size_t count) {
  using ParseError = boost::beast::http::error;
  bytes_.commit(count);
  if (outcome == boost::asio::error::eof) {
    if (!parser.got_some()) {
      return ParseError::end_of_stream;
    }
    parser.put_eof(outcome);  // The end of a body without a length.
    return outcome;
  }
  if (outcome) {
    return outcome;
  }
  if (bytes_.size() == 0) {
    return ParseError::need_more;
  }
  bytes_.consume(parser.put(bytes_.cdata(), outcome));
  const bool is_full = bytes_.size() == bytes_.max_size();
  return outcome == ParseError::need_more && is_full ? ParseError::buffer_overflow : outcome;
}

}  // namespace podgpu
