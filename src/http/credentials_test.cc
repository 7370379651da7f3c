#include "http/credentials.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(BasicCredentials, AreReadFromTheHeader) {
  struct Row {
    std::string_view header;
    Credentials credentials;
  };
  const Row rows[] = {
      {"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", {"Aladdin", "open sesame"}},  // RFC 7617, 2.
      {"basic dGVzdDoxMjPCow==", {"test", "123\xC2\xA3"}},
      {"BASIC YTo=", {"a", ""}},
      {"Basic OmI=", {"", "b"}},
      {"Basic Og==", {"", ""}},
      {"Basic YTpiOmM=", {"a", "b:c"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ReadBasicCredentials(row.header), row.credentials) << row.header;
  }
}

TEST(BasicCredentials, AreAbsentFromOtherHeaders) {
  for (const std::string_view header :
       {"", "Basic", "Basic ", "Bearer YTo=", "Basic YTo", "Basic YQ==", "Basic YT o=",
        "Basic  YTo=", "Basic =", "Basic ====", "Basic YTo=YTo=", "Basic Y===", "BasicYTo="}) {
    EXPECT_EQ(ReadBasicCredentials(header), std::nullopt) << header;
  }
}

TEST(BasicCredentials, CompareAsTexts) {
  EXPECT_TRUE(AreEqualInConstantTime("", ""));
  EXPECT_TRUE(AreEqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(AreEqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(AreEqualInConstantTime("abc", "abcd"));
}

}  // namespace
}  // namespace podgpu
