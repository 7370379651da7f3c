#include "kube/list_stream.h"

#include <vector>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr size_t kItemLimit = 40;

// The objects of `bytes` when they arrive in pieces of `piece`, then the text around them or the
// name of the failure.
std::vector<std::string> ItemsOf(const std::string& bytes, size_t piece) {
  ListStream stream(kItemLimit);
  std::vector<std::string> items;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    stream.Append(std::string_view(bytes).substr(at, piece));
    StatusOr<std::optional<std::string_view>> next = stream.Next();
    for (; next.ok() && next->has_value(); next = stream.Next()) {
      items.emplace_back(**next);
    }
    if (!next.ok()) {
      items.push_back(absl::StatusCodeToString(next.status().code()));
      EXPECT_FALSE(stream.Surrounding().ok());
      return items;
    }
  }
  const StatusOr<std::string_view> rest = stream.Surrounding();
  items.push_back(rest.ok() ? std::string(*rest) : absl::StatusCodeToString(rest.status().code()));
  return items;
}

TEST(ListStream, SplitsAListInPiecesOfAnySize) {
  struct Row {
    std::string bytes;
    std::vector<std::string> items;
  };
  const std::string long_item = "{" + std::string(kItemLimit - 2, ' ') + "}";
  const Row rows[] = {
      {"", {"DATA_LOSS"}},
      {R"({"items":[]})", {R"({"items":[]})"}},
      {R"({"items":null,"a":1})", {R"({"items":null,"a":1})"}},
      {R"({"kind":"L","metadata":{"items":[{}]},"items":[{"a":1}, {"b":"]}"}]})",
       {R"({"a":1})", R"({"b":"]}"})", R"({"kind":"L","metadata":{"items":[{}]},"items":[]})"}},
      {" {\"items\" :\n[ {\"a\":[[{}],{}]}\n],\"metadata\":{}}\n",
       {R"({"a":[[{}],{}]})", "{\"items\" :\n[],\"metadata\":{}}"}},
      {R"({"items":[{"a":"\"]}\\"}]})", {R"({"a":"\"]}\\"})", R"({"items":[]})"}},
      {R"({"kind":"items","others":[{}],"items":[{}]})",
       {"{}", R"({"kind":"items","others":[{}],"items":[]})"}},
      {R"({"it\"ems":[1],"items":[]})", {R"({"it\"ems":[1],"items":[]})"}},
      {R"({"items":[{}],"x":1)", {"{}", "DATA_LOSS"}},
      {R"({"items":[{},7]})", {"{}", "DATA_LOSS"}},
      {R"({"items":[]}{})", {"DATA_LOSS"}},
      {"[{}]", {"DATA_LOSS"}},
      {"<html>", {"DATA_LOSS"}},
      {R"({"items":[)" + long_item + "]}", {long_item, R"({"items":[]})"}},
      {R"({"items":[ )" + long_item.substr(0, kItemLimit - 1) + "  }]}", {"RESOURCE_EXHAUSTED"}},
      {R"({"a":")" + std::string(70'000, 'x') + "\"}", {"RESOURCE_EXHAUSTED"}},
  };
  for (const Row& row : rows) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, row.bytes.size() + 1}) {
      EXPECT_EQ(ItemsOf(row.bytes, piece), row.items)
          << row.bytes.substr(0, 100) << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace podgpu
