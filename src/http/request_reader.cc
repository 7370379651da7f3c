#include "http/request_reader.h"

#include <algorithm>
#include <string>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/text.h"
#include "http/ignore_case.h"

namespace podgpu {
namespace {

namespace http = boost::beast::http;
using ParseError = boost::beast::error_code;

int RefusalFor(const ParseError& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return 431;
  }
  return error == http::error::body_limit ? 413 : 400;
}

// Returns whether `bytes` are an incomplete start of the last chunk. Beast 1.81 must not see them
// until all five bytes are there: once it has seen the last chunk, it asserts that they are.
bool IsPieceOfLastChunk(std::string_view bytes) {
  constexpr std::string_view kShortestLastChunk = "0\r\n\r\n";
  return bytes.size() < kShortestLastChunk.size() && bytes.starts_with("0\r\n");
}

// Returns whether a body may have this transfer coding, whose end the reader can find. With another
// coding, the body would be read as the next request.
bool IsKnownTransferCoding(std::string_view coding) {
  return AreEqualIgnoringCase(Trim(coding), "chunked");
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Returns all values of a header, joined by commas (RFC 9110, 5.3).
std::string Joined(const http::fields& fields, http::field name) {
  std::string joined;
  const auto [begin, end] = fields.equal_range(name);
  for (auto field = begin; field != end; ++field) {
    joined += joined.empty() ? "" : ",";
    joined += View(field->value());
  }
  return joined;
}

// Returns the target without scheme and authority, which a client may send as if to a proxy.
std::string_view WithoutAuthority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.starts_with(scheme)) {
      target.remove_prefix(scheme.size());
      const size_t path = target.find_first_of("/?");
      return path == std::string_view::npos ? "/" : target.substr(path);
    }
  }
  return target;
}

}  // namespace

struct RequestReader::Parse {
  // A body that is counted against the limit and discarded.
  struct DiscardedBody {
    // NOLINTBEGIN(readability-identifier-naming): names that Beast's body concept asks for.
    struct value_type {};
    class reader {
     public:
      template <bool kIsRequest, typename Fields>
      reader(http::header<kIsRequest, Fields>& /*header*/, value_type& /*body*/) {}
      template <typename Length>
      void init(const Length& /*length*/, ParseError& error) {
        error = {};
      }
      template <typename Buffers>
      size_t put(const Buffers& buffers, ParseError& error) {
        error = {};
        return boost::beast::buffer_bytes(buffers);
      }
      void finish(ParseError& error) { error = {}; }
    };
    // NOLINTEND(readability-identifier-naming)
  };

  explicit Parse(const RequestLimits& limits) {
    parser.eager(true);
    parser.header_limit(static_cast<uint32_t>(limits.max_header_bytes) + 1);
    parser.body_limit(limits.max_body_bytes);
  }

  http::request_parser<DiscardedBody> parser;
  size_t header_bytes = 0;  // Received so far; meaningless once the header is complete.
  std::string accept;
  std::string accept_encoding;
  std::string if_none_match;
  std::string origin;
};

RequestReader::RequestReader(RequestLimits limits) : limits_(limits) {}
RequestReader::~RequestReader() = default;

size_t RequestReader::Feed(std::string_view bytes) {
  size_t used = 0;
  if (!parse_) {
    // Empty lines before a request are skipped (RFC 9112, 2.2).
    used = std::min(bytes.find_first_not_of("\r\n"), bytes.size());
  }
  while (state_ == State::kIncomplete && used < bytes.size()) {
    const size_t count = Step(bytes.substr(used));
    used += count;
    if (count == 0) {
      break;
    }
  }
  return used;
}

size_t RequestReader::Step(std::string_view bytes) {
  if (!parse_) {
    parse_ = std::make_unique<Parse>(limits_);
  }
  auto& parser = parse_->parser;
  const bool in_header = !parser.is_header_done();
  // Beast's own limit restarts with each call, so the header bytes are counted here.
  const size_t allowed =
      in_header ? limits_.max_header_bytes - parse_->header_bytes : limits_.max_header_bytes;
  const std::string_view offer = bytes.substr(0, allowed);
  if (!in_header && parser.chunked() && IsPieceOfLastChunk(offer)) {
    return 0;
  }
  ParseError error;
  const size_t count = parser.put(boost::asio::const_buffer(offer.data(), offer.size()), error);
  parse_->header_bytes += count;
  if (parser.is_header_done() && !HasKnownFraming()) {
    return count;
  }
  if (error && error != http::error::need_more) {
    Refuse(RefusalFor(error));
  } else if (parser.is_done()) {
    Complete();
  } else if (parser.is_header_done() && !parser.get()[http::field::expect].empty()) {
    Refuse(417);
  } else if (offer.size() == allowed && (in_header ? !parser.is_header_done() : count == 0)) {
    Refuse(431);  // The header, or one line of chunked framing, is above the limit.
  }
  return count;
}

void RequestReader::Reset() {
  parse_.reset();
  state_ = State::kIncomplete;
  refusal_ = 0;
}

// Returns whether the end of the body can be found; otherwise refuses the request.
bool RequestReader::HasKnownFraming() {
  const auto& message = parse_->parser.get();
  const auto [begin, end] = message.equal_range(http::field::transfer_encoding);
  if (begin == end) {
    return true;
  }
  if (is_http_1_0()) {
    Refuse(400);  // RFC 9112, 6.1: its framing is faulty.
    return false;
  }
  if (!IsKnownTransferCoding(Joined(message, http::field::transfer_encoding))) {
    Refuse(501);
    return false;
  }
  return true;
}

void RequestReader::Complete() {
  const auto& message = parse_->parser.get();
  const auto [begin, end] = message.equal_range(http::field::host);
  const auto hosts = std::distance(begin, end);
  if (hosts > 1 || (hosts == 0 && !is_http_1_0())) {
    Refuse(400);  // RFC 9112, 3.2.
    return;
  }
  if (message.method() == http::verb::unknown) {
    Refuse(405);
    return;
  }
  if (!message[http::field::expect].empty()) {
    Refuse(417);  // No request needs a body; a client that waits to send one gets 417.
    return;
  }
  parse_->accept = Joined(message, http::field::accept);
  parse_->accept_encoding = Joined(message, http::field::accept_encoding);
  parse_->if_none_match = Joined(message, http::field::if_none_match);
  parse_->origin = Joined(message, http::field::origin);
  state_ = State::kComplete;
}

void RequestReader::Refuse(int status) {
  state_ = State::kRefused;
  refusal_ = status;
}

HttpRequest RequestReader::request() const {
  PODGPU_CHECK(state_ == State::kComplete);
  const auto& message = parse_->parser.get();
  const std::string_view target = WithoutAuthority(View(message.target()));
  const size_t question = target.find('?');
  const bool has_query = question != std::string_view::npos;
  return {.method = View(message.method_string()),
          .path = target.substr(0, question),
          .query = has_query ? target.substr(question + 1) : std::string_view(),
          .accept = parse_->accept,
          .accept_encoding = parse_->accept_encoding,
          .if_none_match = parse_->if_none_match,
          .authorization = View(message[http::field::authorization]),
          .host = View(message[http::field::host]),
          .origin = parse_->origin,
          .fetch_site = View(message["Sec-Fetch-Site"]),
          .scrape_timeout_s = View(message["X-Prometheus-Scrape-Timeout-Seconds"])};
}

std::vector<HttpHeader> RequestReader::headers() const {
  PODGPU_CHECK(state_ == State::kComplete);
  std::vector<HttpHeader> headers;
  for (const auto& field : parse_->parser.get()) {
    headers.emplace_back(View(field.name_string()), View(field.value()));
  }
  return headers;
}

bool RequestReader::keep_alive() const {
  PODGPU_CHECK(state_ == State::kComplete);
  return parse_->parser.keep_alive();
}

bool RequestReader::is_http_1_0() const { return parse_->parser.get().version() < 11; }

}  // namespace podgpu
