#include "kube/json_stream.h"

#include <vector>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr size_t kLimit = 40;

// The objects of `bytes` when they arrive in pieces of `piece`, then "+" for a rest or the name of
// the failure.
std::vector<std::string> ObjectsOf(const std::string& bytes, size_t piece) {
  JsonStream stream(kLimit);
  std::vector<std::string> objects;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    stream.Append(std::string_view(bytes).substr(at, piece));
    StatusOr<std::optional<std::string_view>> next = stream.Next();
    for (; next.ok() && next->has_value(); next = stream.Next()) {
      objects.emplace_back(**next);
    }
    if (!next.ok()) {
      objects.push_back(absl::StatusCodeToString(next.status().code()));
      return objects;
    }
  }
  if (stream.pending_bytes() > 0) {
    objects.emplace_back("+");
  }
  return objects;
}

TEST(JsonStream, SplitsObjectsInPiecesOfAnySize) {
  struct Row {
    std::string bytes;
    std::vector<std::string> objects;
  };
  const Row rows[] = {
      {"", {}},
      {" \n\r\t", {}},
      {"{}", {"{}"}},
      {"{}\n{}\n", {"{}", "{}"}},
      {"{\"a\":{\"b\":[{}]}}{}", {"{\"a\":{\"b\":[{}]}}", "{}"}},
      {"{\"a\":\"}{\"} {\"b\":1}", {"{\"a\":\"}{\"}", "{\"b\":1}"}},
      {"{\"a\":\"\\\"}\"}", {"{\"a\":\"\\\"}\"}"}},
      {"{\"a\":\"\\\\\"}{}", {"{\"a\":\"\\\\\"}", "{}"}},
      {"{\n \"a\": 1\n}\n{\"b\"", {"{\n \"a\": 1\n}", "+"}},
      {"x", {"DATA_LOSS"}},
      {"{}x{}", {"{}", "DATA_LOSS"}},
      {"[{}]", {"DATA_LOSS"}},
      {"{" + std::string(kLimit - 2, ' ') + "}", {"{" + std::string(kLimit - 2, ' ') + "}"}},
      {"{" + std::string(kLimit - 1, ' ') + "}", {"RESOURCE_EXHAUSTED"}},
      {"{\"" + std::string(2 * kLimit, 'x'), {"RESOURCE_EXHAUSTED"}},
  };
  for (const Row& row : rows) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, row.bytes.size() + 1}) {
      EXPECT_EQ(ObjectsOf(row.bytes, piece), row.objects) << row.bytes << " by " << piece;
    }
  }
}

TEST(JsonStream, StaysBroken) {
  JsonStream stream(kLimit);
  stream.Append("x");
  EXPECT_FALSE(stream.Next().ok());
  stream.Append("{}");
  EXPECT_FALSE(stream.Next().ok());
}

}  // namespace
}  // namespace podgpu
