#include "ui/document.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/gunzip.h"

namespace podgpu {
namespace {

std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

TEST(Document, IsCompressedOnceAndOnlyForClientsThatAcceptGzip) {
  const std::shared_ptr<Document> document = MakeDocument("{\"a\":1}\n", "application/json");
  HttpRequest request;
  const HttpResponse plain = DocumentResponse(document, request);
  EXPECT_EQ(plain.body, "{\"a\":1}\n");
  EXPECT_EQ(plain.content_type, "application/json");
  EXPECT_EQ(HeaderOf(plain, "Content-Encoding"), "");
  EXPECT_EQ(document->gzip, "");
  request.accept_encoding = "gzip";
  const HttpResponse compressed = DocumentResponse(document, request);
  EXPECT_EQ(HeaderOf(compressed, "Content-Encoding"), "gzip");
  EXPECT_EQ(Gunzip(std::string(compressed.body)), "{\"a\":1}\n");
  EXPECT_EQ(DocumentResponse(document, request).body.data(), compressed.body.data());
}

TEST(Document, IsCompressedOnlyFromItsLeastSize) {
  HttpRequest request;
  request.accept_encoding = "gzip";
  const std::shared_ptr<Document> shorter = MakeDocument(std::string(99, 'a'), "text/css", 100);
  EXPECT_EQ(DocumentResponse(shorter, request).body, std::string(99, 'a'));
  EXPECT_EQ(HeaderOf(DocumentResponse(shorter, request), "Content-Encoding"), "");
  const std::shared_ptr<Document> longer = MakeDocument(std::string(100, 'a'), "text/css", 100);
  EXPECT_EQ(HeaderOf(DocumentResponse(longer, request), "Content-Encoding"), "gzip");
}

TEST(Document, IsNotSentAgainToAClientThatHasIt) {
  const std::shared_ptr<Document> document = MakeDocument("a", "text/css");
  HttpRequest request;
  request.if_none_match = document->etag;
  const HttpResponse response = DocumentResponse(document, request);
  EXPECT_EQ(response.status, 304);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(HeaderOf(response, "ETag"), document->etag);
  EXPECT_EQ(MakeDocument("a", "text/html")->etag, document->etag);
  EXPECT_NE(MakeDocument("b", "text/css")->etag, document->etag);
}

TEST(MatchesEtag, ComparesTagsWeakly) {
  struct Row {
    std::string_view header;
    bool matches;
  };
  const Row rows[] = {
      {"", false}, {"W/\"a\"", true}, {"\"a\"", true}, {"\"b\"", false}, {"\"b\", W/\"a\"", true},
      {"*", true}, {"a", false},      {"W/", false},   {",,", false}};
  for (const Row& row : rows) {
    EXPECT_EQ(MatchesEtag(row.header, "W/\"a\""), row.matches) << row.header;
  }
}

}  // namespace
}  // namespace podgpu
