#include "sim/fleet/answers.h"

#include <set>

#include <gtest/gtest.h>

#include "report/node_report.h"
#include "tests/gunzip.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kReport =
    R"({"schema":1,"version":"0.1","node":"n","ready":true,"verdict":"ready","owners_known":true,)"
    R"("devices":[{"gpu":0,"uuid":"GPU-1","model":"M","state":"ok","values":{},"owners":[]},)"
    R"({"gpu":1,"uuid":"GPU-2","model":"M","state":"ok","values":{},"owners":[]}]})";

std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

std::string EtagOf(const std::string& answer) {
  constexpr std::string_view kName = "ETag: ";
  const size_t begin = answer.find(kName) + kName.size();
  return answer.substr(begin, answer.find('\r', begin) - begin);
}

TEST(FleetAnswers, ServeTheReportPlainOrCompressed) {
  const std::string plain = AnswerOfNode({.path = "/api/v1/node"}, kReport);
  EXPECT_TRUE(plain.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")) << plain;
  EXPECT_EQ(BodyOf(plain), kReport);
  EXPECT_EQ(plain.find("Connection:"), std::string::npos);
  const std::string zipped = AnswerOfNode(
      {.path = "/api/v1/node", .accept_encoding = "deflate, gzip", .closes = true}, kReport);
  EXPECT_NE(zipped.find("Content-Encoding: gzip\r\n"), std::string::npos);
  EXPECT_NE(zipped.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(Gunzip(BodyOf(zipped)), kReport);
}

TEST(FleetAnswers, AnswerNotModifiedToAClientThatHasTheReport) {
  const std::string first = AnswerOfNode({.path = "/api/v1/node"}, kReport);
  const std::string again =
      AnswerOfNode({.path = "/api/v1/node", .if_none_match = EtagOf(first)}, kReport);
  EXPECT_TRUE(again.starts_with("HTTP/1.1 304 Not Modified\r\n")) << again;
  EXPECT_EQ(BodyOf(again), "");
  const std::string other =
      AnswerOfNode({.path = "/api/v1/node", .if_none_match = EtagOf(first)}, "{}");
  EXPECT_EQ(BodyOf(other), "{}");
}

TEST(FleetAnswers, RefuseOtherPaths) {
  EXPECT_EQ(BodyOf(AnswerOfNode({.path = "/healthz"}, kReport)), "ok\n");
  EXPECT_TRUE(AnswerOfNode({.path = "/metrics"}, kReport).starts_with("HTTP/1.1 404 "));
}

TEST(FleetAnswers, HaveGarbageOfManySortsThatTheReaderRefuses) {
  std::set<std::string> sorts;
  for (size_t node = 0; node < 250; ++node) {
    const FleetGarbage garbage = GarbageOfNode(node, kReport);
    sorts.insert(garbage.bytes);
    const std::string body = BodyOf(garbage.bytes);
    EXPECT_FALSE(ReadNodeReport(body).ok()) << garbage.bytes.substr(0, 500);
    EXPECT_TRUE(!garbage.is_endless || garbage.bytes.size() > 65'536);
  }
  EXPECT_EQ(sorts.size(), 7U);
}

}  // namespace
}  // namespace podgpu::sim
