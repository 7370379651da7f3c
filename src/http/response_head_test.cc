#include "http/response_head.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(HttpDate, IsWrittenAsRfc9110Does) {
  struct Row {
    int64_t unix_s;
    std::string_view text;
  };
  const Row rows[] = {
      {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
      {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
      {1709164800, "Thu, 29 Feb 2024 00:00:00 GMT"},
      {1735689599, "Tue, 31 Dec 2024 23:59:59 GMT"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(FormatHttpDate(row.unix_s), row.text);
  }
}

TEST(ReasonPhrase, KnowsEveryStatusThatTheServerSends) {
  for (const int status : {200, 400, 404, 413, 417, 431, 503}) {
    EXPECT_FALSE(ReasonPhrase(status).empty()) << status;
  }
  EXPECT_EQ(ReasonPhrase(599), "");
  EXPECT_EQ(ReasonPhrase(0), "");
}

TEST(ResponseHead, ListsDateTypeLengthAndTheHandlersHeaders) {
  HttpResponse response = TextResponse(404, "no such page\n");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  EXPECT_EQ(FormatResponseHead(response, Persistence::kKeepAlive, 0),
            "HTTP/1.1 404 Not Found\r\n"
            "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 13\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "\r\n");
}

TEST(ResponseHead, TellsWhetherTheConnectionStaysOpen) {
  const HttpResponse response = TextResponse(200, "");
  const auto connection = [&](Persistence persistence) {
    const std::string head = FormatResponseHead(response, persistence, 0);
    const size_t at = head.find("Connection: ");
    return at == std::string::npos ? "" : head.substr(at, head.find('\r', at) - at);
  };
  EXPECT_EQ(connection(Persistence::kKeepAlive), "");
  EXPECT_EQ(connection(Persistence::kClose), "Connection: close");
  EXPECT_EQ(connection(Persistence::kKeepAliveHttp10), "Connection: keep-alive");
}

TEST(ResponseHead, KeepsAValueFromAddingAHeader) {
  HttpResponse response = TextResponse(200, "");
  response.headers.emplace_back("X-Pod", "a\r\nSet-Cookie: b\nc");
  const std::string head = FormatResponseHead(response, Persistence::kKeepAlive, 0);
  EXPECT_NE(head.find("X-Pod: a  Set-Cookie: b c\r\n"), std::string::npos);
}

TEST(ResponseHead, HasNoLengthWhereNoBodyIsAllowed) {
  for (const int status : {204, 304}) {
    const std::string head =
        FormatResponseHead(TextResponse(status, "", ""), Persistence::kKeepAlive, 0);
    EXPECT_EQ(head.find("Content-Length"), std::string::npos) << status;
    EXPECT_EQ(head.find("Content-Type"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace podgpu
