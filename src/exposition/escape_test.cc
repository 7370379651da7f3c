#include "exposition/escape.h"

#include <gtest/gtest.h>

#include "exposition/series_plan.h"

namespace podgpu {
namespace {

using std::string_literals::operator""s;

TEST(RenderLabels, EscapesAnyInput) {
  struct Case {
    std::vector<Label> labels;
    std::string rendered;
  };
  for (const Case& c : std::initializer_list<Case>{
           {{}, ""},
           {{{"a", "b"}}, "a=\"b\""},
           {{{"a", "b"}, {"c", ""}}, "a=\"b\",c=\"\""},
           {{{"a", "x\\y\"z\n"}}, "a=\"x\\\\y\\\"z\\n\""},
           {{{"a", "\xff\r"}}, "a=\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
           {{{"a", "x\0y"s}}, "a=\"x\xEF\xBF\xBDy\""},
           {{{"a", "grün"}}, "a=\"grün\""},
           {{{"app.kubernetes.io/name", "x"}}, "app_kubernetes_io_name=\"x\""},
           {{{"1st", "x"}, {"", "y"}}, "_1st=\"x\",_=\"y\""},
           {{{"a-b", "x"}, {"a.b", "y"}}, "a_b=\"x\""}}) {
    EXPECT_EQ(RenderLabels(c.labels), c.rendered);
  }
}

TEST(Help, IsEscapedAsEachFormatRequires) {
  EXPECT_EQ(TextHelp("say \"a\\b\"\nand go"), "say \"a\\\\b\"\\nand go");
  EXPECT_EQ(OpenMetricsHelp("say \"a\\b\"\nand go"), "say \\\"a\\\\b\\\"\\nand go");
}

TEST(MetricName, HasLettersDigitsAndColons) {
  for (const std::string_view name : {"a", "_", ":", "A9_:"}) {
    EXPECT_TRUE(IsMetricName(name)) << name;
  }
  for (const std::string_view name : {"", "9a", "a b", "a.b", "ä", "a\n"}) {
    EXPECT_FALSE(IsMetricName(name)) << name;
  }
}

}  // namespace
}  // namespace podgpu
