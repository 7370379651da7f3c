#include "base/percent.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(PercentDecode, TurnsEscapesIntoBytes) {
  struct Row {
    std::string_view text;
    std::string_view decoded;
  };
  const Row rows[] = {
      {"", ""},
      {"plain text", "plain text"},
      {"unknown service%3A v1%2e", "unknown service: v1."},
      {"100%", "100%"},
      {"%4", "%4"},
      {"%zz%4g%-1", "%zz%4g%-1"},
      {"%e2%82%AC", "\xE2\x82\xAC"},
      {"%%41", "%A"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PercentDecode(row.text), row.decoded) << row.text;
  }
}

TEST(PercentEncode, EncodesEveryByteThatAQueryCannotContain) {
  EXPECT_EQ(PercentEncode("az-AZ_09.~"), "az-AZ_09.~");
  EXPECT_EQ(PercentEncode("a=b&c d/%+"), "a%3Db%26c%20d%2F%25%2B");
  EXPECT_EQ(PercentEncode("\xE2\x82\xAC"), "%E2%82%AC");
}

TEST(QueryParameters, DecodesValuesAndKeepsTheOrder) {
  const auto parameters = QueryParameters("node=a%2Fb&gpu=3&&flag&x=1=2&text=a+b%2Bc");
  const std::vector<std::pair<std::string_view, std::string>> expected = {
      {"node", "a/b"}, {"gpu", "3"}, {"flag", ""}, {"x", "1=2"}, {"text", "a b+c"}};
  EXPECT_EQ(parameters, expected);
  EXPECT_TRUE(QueryParameters("").empty());
}

TEST(PercentEncode, DecodingRestoresTheText) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
}

}  // namespace
}  // namespace podgpu
