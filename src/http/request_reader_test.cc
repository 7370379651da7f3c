#include "http/request_reader.h"

#include <span>
#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using State = RequestReader::State;

constexpr RequestLimits kLimits = {.max_header_bytes = 256, .max_body_bytes = 32};

struct Outcome {
  State state = State::kIncomplete;
  int refusal = 0;
  size_t used = 0;
  bool operator==(const Outcome&) const = default;
};

// Feeds `bytes` in pieces of `piece_bytes`.
Outcome FeedInPieces(RequestReader& reader, std::string_view bytes, size_t piece_bytes) {
  size_t used = 0;
  size_t offered = 0;
  while (reader.state() == State::kIncomplete && offered < bytes.size()) {
    offered = std::min(bytes.size(), offered + piece_bytes);
    used += reader.Feed(bytes.substr(used, offered - used));
  }
  return {reader.state(), reader.refusal(), used};
}

struct JudgedRow {
  std::string_view name;
  std::string bytes;
  State state;
  int refusal;
};

// Expects the result of each row for every division of its bytes into pieces.
void ExpectJudged(std::span<const JudgedRow> rows) {
  for (const JudgedRow& row : rows) {
    for (const size_t piece_bytes : {row.bytes.size() + 1, size_t{1}, size_t{2}, size_t{7}}) {
      RequestReader reader(kLimits);
      const Outcome outcome = FeedInPieces(reader, row.bytes, piece_bytes);
      EXPECT_EQ(outcome.state, row.state) << row.name << ", pieces of " << piece_bytes;
      EXPECT_EQ(outcome.refusal, row.refusal) << row.name << ", pieces of " << piece_bytes;
      if (row.state == State::kComplete) {
        EXPECT_EQ(outcome.used, row.bytes.size()) << row.name << ", pieces of " << piece_bytes;
      }
    }
  }
}

TEST(RequestReader, ParsesRequestsInPiecesOfAnySize) {
  const std::string get = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string long_header = "GET / HTTP/1.1\r\nX: " + std::string(300, 'x') + "\r\n\r\n";
  const std::string long_target = "GET /" + std::string(300, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  std::string many_headers = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100; ++i) {
    many_headers += "A: b\r\n";
  }
  const std::string body33 = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 33\r\n\r\n";
  const JudgedRow rows[] = {
      {"plain", get, State::kComplete, 0},
      {"blank lines first", "\r\n\r\n" + get, State::kComplete, 0},
      {"half a request", get.substr(0, get.size() - 1), State::kIncomplete, 0},
      {"nothing", "", State::kIncomplete, 0},
      {"HTTP/1.0 needs no host", "GET / HTTP/1.0\r\n\r\n", State::kComplete, 0},
      {"body within the limit", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345",
       State::kComplete, 0},
      {"chunked body",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
       State::kComplete, 0},
      {"body to come", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n123",
       State::kIncomplete, 0},
      {"body above the limit", body33, State::kRefused, 413},
      {"chunks above the limit",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n", State::kRefused,
       413},
      {"header above the limit", long_header, State::kRefused, 431},
      {"many headers", many_headers + "\r\n", State::kRefused, 431},
      {"many headers, no end", many_headers, State::kRefused, 431},
      {"header that never ends", long_header.substr(0, 290), State::kRefused, 431},
      {"target above the limit", long_target, State::kRefused, 431},
      {"waits to be asked",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
       State::kRefused, 417},
      {"asks too late",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx",
       State::kRefused, 417},
      {"no host", "GET / HTTP/1.1\r\n\r\n", State::kRefused, 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", State::kRefused, 400},
      {"no HTTP", "\x16\x03\x01\x02hello, this is TLS\r\n\r\n", State::kRefused, 400},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", State::kRefused, 400},
      {"no version", "GET /\r\n\r\n", State::kRefused, 400},
      {"blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", State::kRefused, 400},
      {"folded nonsense", "GET / HTTP/1.1\r\nHost a\r\n\r\n", State::kRefused, 400},
      {"two lengths",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
       State::kRefused, 400},
      {"length and chunks",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
       State::kRefused, 400},
      {"bad chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       State::kRefused, 400},
  };
  ExpectJudged(rows);
}

TEST(RequestReader, AcceptsHttpMethodsAndOneTransferCoding) {
  const JudgedRow rows[] = {
      {"unknown method", "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", State::kRefused, 405},
      {"method in small letters", "get / HTTP/1.1\r\nHost: a\r\n\r\n", State::kRefused, 405},
      {"known method that we have no use for", "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n",
       State::kComplete, 0},
      {"chunked in capitals",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED \r\n\r\n0\r\n\r\n",
       State::kComplete, 0},
      {"blank before the colon",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
       State::kRefused, 400},
      {"chunks of HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       State::kRefused, 400},
  };
  ExpectJudged(rows);
}

TEST(RequestReader, ReadsAnEmptyChunkedBodyInPiecesOfAnySize) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (size_t piece_bytes = 1; piece_bytes <= bytes.size(); ++piece_bytes) {
    RequestReader whole(kLimits);
    EXPECT_EQ(FeedInPieces(whole, bytes, piece_bytes), (Outcome{State::kComplete, 0, bytes.size()}))
        << piece_bytes;
    RequestReader cut(kLimits);
    EXPECT_EQ(FeedInPieces(cut, bytes.substr(0, bytes.size() - 1), piece_bytes).state,
              State::kIncomplete)
        << piece_bytes;
  }
}

// Without a known end, the body would be read as the next request.
TEST(RequestReader, RefusesTransferCodingsOtherThanChunked) {
  for (const std::string_view coding :
       {"xchunked", "chunkedx", "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked",
        "chunked;q=1", "\"chunked\"", "identity", "chunked,", ",chunked", ""}) {
    for (const std::string_view length : {"", "Content-Length: 3\r\n"}) {
      const std::string bytes =
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + std::string(coding) + "\r\n" +
          std::string(length) +
          "\r\n3\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
      for (const size_t piece_bytes : {bytes.size(), size_t{1}, size_t{7}}) {
        RequestReader reader(kLimits);
        const Outcome outcome = FeedInPieces(reader, bytes, piece_bytes);
        EXPECT_EQ(outcome.state, State::kRefused) << coding << ", " << length << piece_bytes;
        // A list that ends in chunked must not have a length as well, which is checked first.
        EXPECT_TRUE(outcome.refusal == 501 || (!length.empty() && outcome.refusal == 400))
            << coding << ", " << length << outcome.refusal;
      }
    }
  }
  RequestReader two(kLimits);
  two.Feed(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(two.refusal(), 501);
}

TEST(RequestReader, RefusesAChunkLineAboveTheHeaderLimit) {
  RequestReader reader(kLimits);
  const std::string bytes = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=" +
                            std::string(400, 'y');
  const Outcome outcome = FeedInPieces(reader, bytes, 16);
  EXPECT_EQ(outcome.state, State::kRefused);
}

TEST(RequestReader, SplitsTargetsAndJoinsHeaders) {
  struct Row {
    std::string_view target;
    std::string_view path;
    std::string_view query;
  };
  const Row rows[] = {
      {"/metrics", "/metrics", ""},
      {"/metrics?name=a&x=?", "/metrics", "name=a&x=?"},
      {"/a%20b", "/a%20b", ""},
      {"/?", "/", ""},
      {"http://node:9400/metrics?q", "/metrics", "q"},
      {"https://node", "/", ""},
      {"http://node?q", "", "q"},
      {"*", "*", ""},
  };
  for (const Row& row : rows) {
    RequestReader reader(kLimits);
    reader.Feed("OPTIONS " + std::string(row.target) +
                " HTTP/1.1\r\nHost: a\r\naccept: a/b\r\nAccept-Encoding: gzip\r\nACCEPT: "
                "c/d;q=0.5\r\nIf-None-Match: \"x\"\r\n\r\n");
    ASSERT_EQ(reader.state(), State::kComplete) << row.target;
    const HttpRequest request = reader.request();
    EXPECT_EQ(request.method, "OPTIONS");
    EXPECT_EQ(request.path, row.path) << row.target;
    EXPECT_EQ(request.query, row.query) << row.target;
    EXPECT_EQ(request.accept, "a/b,c/d;q=0.5");
    EXPECT_EQ(request.accept_encoding, "gzip");
    EXPECT_EQ(request.if_none_match, "\"x\"");
  }
}

TEST(RequestReader, DetectsWhetherTheClientKeepsTheConnection) {
  struct Row {
    std::string_view bytes;
    bool keep_alive;
    bool is_http_1_0;
  };
  const Row rows[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true, false},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false, false},
      {"GET / HTTP/1.0\r\n\r\n", false, true},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, true},
  };
  for (const Row& row : rows) {
    RequestReader reader(kLimits);
    reader.Feed(row.bytes);
    ASSERT_EQ(reader.state(), State::kComplete) << row.bytes;
    EXPECT_EQ(reader.keep_alive(), row.keep_alive) << row.bytes;
    EXPECT_EQ(reader.is_http_1_0(), row.is_http_1_0) << row.bytes;
  }
}

TEST(RequestReader, LeavesTheNextRequestUnread) {
  const std::string one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string two = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
  std::string bytes = one + two;
  RequestReader reader(kLimits);
  EXPECT_EQ(reader.Feed(bytes), one.size());
  EXPECT_EQ(reader.request().path, "/1");
  EXPECT_EQ(reader.Feed(two), 0U) << "a complete request takes no more bytes";
  bytes.erase(0, one.size());
  reader.Reset();
  EXPECT_EQ(reader.Feed(bytes), two.size());
  EXPECT_EQ(reader.request().path, "/2");
}

}  // namespace
}  // namespace podgpu
