#include "metrics_api/values/label_selector.h"

#include <map>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

using Labels = std::map<std::string, std::string, std::less<>>;

bool Selects(std::string_view text, const Labels& labels) {
  const StatusOr<LabelSelector> selector = ParseLabelSelector(text);
  EXPECT_TRUE(selector.ok()) << selector.status();
  return selector.ok() &&
         selector->Matches([&](std::string_view key) -> std::optional<std::string_view> {
           const auto found = labels.find(key);
           return found == labels.end() ? std::nullopt
                                        : std::optional<std::string_view>(found->second);
         });
}

TEST(LabelSelector, FollowsTheGrammarOfKubernetes) {
  const Labels labels = {{"app", "llm"}, {"tier", "a"}, {"empty", ""}, {"x.io/zone", "eu-1"}};
  struct Row {
    const char* text;
    bool selects;
  };
  const Row rows[] = {
      {"", true},
      {"  ", true},
      {"app=llm", true},
      {"app==llm", true},
      {"app = llm", true},
      {"app=other", false},
      {"app!=other", true},
      {"app!=llm", false},
      {"absent!=x", true},
      {"absent=x", false},
      {"tier in (a,b)", true},
      {"tier in(b , a)", true},
      {"tier in (b)", false},
      {"tier notin (b,c)", true},
      {"tier notin (a)", false},
      {"absent notin (a)", true},
      {"app", true},
      {"absent", false},
      {"!absent", true},
      {"! absent", true},
      {"!app", false},
      {"empty=", true},
      {"empty in ()", true},
      {"app=", false},
      {"x.io/zone=eu-1,app=llm,!canary", true},
      {"x.io/zone=eu-1,app=other", false},
      {"in in (a)", false},
      {"notin", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Selects(row.text, labels), row.selects) << row.text;
  }
}

TEST(LabelSelector, RefusesOtherTextsAndSaysWhere) {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {",", "expected a label key at character 1"},
      {"app=llm,", "expected a label key at character 9"},
      {"app=a=b", "expected a comma, or one of = == != in notin at character 6"},
      {"app>5", "expected a comma, or one of = == != in notin at character 4"},
      {"app in a", "expected an opening parenthesis at character 8"},
      {"app in (a", "expected a comma or a closing parenthesis at character 10"},
      {"app near (a)", "expected a comma, or one of = == != in notin at character 5"},
      {"-app", "expected a label key at character 1"},
      {"a/b/c=d", "expected a label key at character 1"},
      {"app=-", "expected a label value at character 5"},
      {"!", "expected a label key at character 2"},
      {"!app=a", "expected a comma, or one of = == != in notin at character 5"},
  };
  for (const Row& row : rows) {
    const Status status = ParseLabelSelector(row.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_NE(std::string(status.message()).find(row.says), std::string::npos)
        << row.text << ": " << status;
  }
  EXPECT_FALSE(ParseLabelSelector(std::string(9'000, 'a')).ok());
}

TEST(LabelSelector, IsTheSameAfterWritingAndParsing) {
  const LabelSelector selector = ParseLabelSelector("a=1,b!=2,c in (y,x,y),d,!e").value();
  EXPECT_EQ(ToString(selector), "a in (1),b notin (2),c in (x,y),d,!e");
  EXPECT_EQ(ParseLabelSelector(ToString(selector)).value(), selector);
}

}  // namespace
}  // namespace podgpu
