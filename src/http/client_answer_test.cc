// What the client sends, and what it makes of the bytes of an answer.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/version.h"
#include "http/client.h"
#include "http/listen.h"
#include "http/testing/raw_server.h"

namespace podgpu {
namespace {

struct RawExchange {
  std::string request;
  StatusOr<HttpAnswer> answer = absl::UnknownError("none");
};

RawExchange AskFor(std::string_view bytes, HttpQuestion question = {}, Reads reads = Reads::kAll) {
  const Listener listener =
      Listen({.host = "127.0.0.1", .port = 0, .path = {}}, SystemFiles()).value();
  RawExchange exchange;
  std::jthread server([&] { exchange.request = ServeBytes(listener.socket.get(), bytes, reads); });
  question.ip = "127.0.0.1";
  question.port = listener.port;
  question.host = "node";
  question.path = "/x?y=1";
  HttpClient client({.deadline = std::chrono::seconds(30), .max_body_bytes = 100'000});
  client.Ask(question, [&exchange](auto answer) { exchange.answer = std::move(answer); });
  while (client.running() > 0) {
    client.Run(Instant::max());
  }
  server.join();
  return exchange;
}

TEST(HttpClientRequest, HasTheHeadersOfTheQuestion) {
  const std::string first = "GET /x?y=1 HTTP/1.1\r\nHost: node\r\nUser-Agent: podgpu/" +
                            std::string(kVersion) +
                            " (linux)\r\nAccept: application/json\r\n"
                            "Accept-Encoding: gzip\r\nConnection: close\r\n";
  EXPECT_EQ(AskFor("").request, first + "\r\n");
  HttpQuestion question;
  question.etag = "\"7\"";
  question.authorization = "Bearer t";
  question.headers = {{"X-A", "1"}, {"X-B", "2"}};
  EXPECT_EQ(AskFor("", question).request, first +
                                              "If-None-Match: \"7\"\r\nAuthorization: Bearer t\r\n"
                                              "X-A: 1\r\nX-B: 2\r\n\r\n");
}

TEST(HttpClientRequest, SendsAFormWithPost) {
  HttpQuestion question;
  question.form = "query=up%7Ba%3D%22b%22%7D&step=300";
  question.authorization = "Bearer t";
  question.headers = {{"X-A", "1"}};
  EXPECT_EQ(AskFor("", question).request,
            "POST /x?y=1 HTTP/1.1\r\nHost: node\r\nUser-Agent: podgpu/" + std::string(kVersion) +
                " (linux)\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n"
                "Connection: close\r\nAuthorization: Bearer t\r\nX-A: 1\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 34\r\n\r\n"
                "query=up%7Ba%3D%22b%22%7D&step=300");
  question.form = std::string(size_t{3} << 20, 'x');
  const RawExchange large = AskFor("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", question);
  EXPECT_TRUE(large.request.ends_with("\r\n\r\n" + question.form));
  EXPECT_EQ(large.answer.ok() ? large.answer->body : "", "ok");
}

// The rest of the request cannot be sent.
TEST(HttpClientRequest, TakesTheAnswerOfAServerThatHasReadOnlyTheHead) {
  HttpQuestion question;
  question.form = std::string(size_t{16} << 20, 'x');
  const std::string refusal = "HTTP/1.1 413 -\r\nContent-Length: 2\r\n\r\nno";
  const RawExchange large = AskFor(refusal, question, Reads::kHead);
  ASSERT_TRUE(large.answer.ok()) << large.answer.status();
  EXPECT_EQ(large.answer->status, 413);
  EXPECT_EQ(large.answer->body, "no");
  const RawExchange silent = AskFor("", question, Reads::kHead);
  EXPECT_TRUE(silent.answer.status().ToString().find(": asking: ") != std::string::npos)
      << silent.answer.status();
}

TEST(HttpClientAnswer, EndsWhereItsHeadSays) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string large(100'000, 'x');
  struct Row {
    std::string label, bytes, body;
    absl::StatusCode code = absl::StatusCode::kOk;
  };
  using enum absl::StatusCode;
  const Row rows[] = {
      {"a length", ok + "Content-Length: 5\r\n\r\nhello and more", "hello"},
      {"no body", ok + "Content-Length: 0\r\n\r\n", ""},
      {"chunks", chunked + "3\r\nhel\r\n2;e=1\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n", "hello"},
      {"the end of the connection", ok + "\r\nhello", "hello"},
      {"as large as allowed", ok + "\r\n" + large, large},
      {"no answer", "", "", kDataLoss},
      {"half a head", ok, "", kDataLoss},
      {"half a body", ok + "Content-Length: 5\r\n\r\nhel", "", kDataLoss},
      {"half a chunk", chunked + "5\r\nhel", "", kDataLoss},
      {"not HTTP", "hello\r\n\r\n", "", kDataLoss},
      {"a large head", ok + "X: " + large + "\r\n\r\n", "", kResourceExhausted},
      {"a large body", ok + "Content-Length: 100001\r\n\r\n", "", kResourceExhausted},
      {"a large body without a length", ok + "\r\n" + large + "x", "", kResourceExhausted},
      {"a large trailer", chunked + "0\r\nX: " + large + "\r\n\r\n", "", kDataLoss},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.label);
    const StatusOr<HttpAnswer> answer = AskFor(row.bytes).answer;
    EXPECT_EQ(answer.status().code(), row.code) << answer.status();
    EXPECT_EQ(answer.ok() ? answer->body : "", row.body);
  }
}

}  // namespace
}  // namespace podgpu
