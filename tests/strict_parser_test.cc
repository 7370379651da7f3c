// The strict parser itself: it accepts valid pages and refuses every broken rule.
#include "tests/strict_parser.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(StrictParser, ReadsATextPage) {
  const auto page = ParseTextStrictly(
      "# HELP a_total what \"it\" is\\n\\\\\n# TYPE a_total counter\n"
      "a_total{b=\"x\\\"\\\\\\n\",c=\"\"} 1e+06\na_total -0.5\n"
      "# HELP g \n# TYPE g gauge\ng NaN\n");
  ASSERT_TRUE(page.ok()) << page.status().message();
  ASSERT_EQ(page->size(), 2U);
  EXPECT_EQ(page->front().help, "what \"it\" is\n\\");
  EXPECT_EQ(page->front().samples[0].labels[0].second, "x\"\\\n");
  EXPECT_EQ(page->front().samples[1].number, "-0.5");
}

TEST(StrictParser, ReadsAnOpenMetricsPage) {
  const auto page = ParseOpenMetricsStrictly(
      "# TYPE a_joules counter\n# UNIT a_joules joules\n# HELP a_joules say \\\"x\\\"\n"
      "a_joules_total{b=\"x\"} 1.5\n# TYPE u unknown\nu +Inf\n# EOF\n");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(page->front().unit, "joules");
  EXPECT_EQ(page->front().help, "say \"x\"");
}

TEST(StrictParser, AcceptsEmptyPages) {
  EXPECT_TRUE(ParseTextStrictly("").ok());
  EXPECT_TRUE(ParseOpenMetricsStrictly("# EOF\n").ok());
}

TEST(StrictParser, RefusesEachBrokenRuleOfText) {
  const std::string head = "# HELP a x\n# TYPE a gauge\n";
  for (const std::string& page :
       std::initializer_list<std::string>{"a 1\n",
                                          head,
                                          head + "a 1",
                                          head + "a 1\r\n",
                                          head + "a 1\n\n",
                                          head + "a  1\n",
                                          head + "a 1 2\n",
                                          head + "a 0x1\n",
                                          head + "a 1_0\n",
                                          head + "a nan\n",
                                          head + "a .5\n",
                                          head + "a{} 1\n",
                                          head + "a{b=\"x\",} 1\n",
                                          head + "a{b=\"x\"}1\n",
                                          head + "a{b=\"x\",b=\"y\"} 1\n",
                                          head + "a{1b=\"x\"} 1\n",
                                          head + "a{__b=\"x\"} 1\n",
                                          head + "a{b=\"\\q\"} 1\n",
                                          head + "a{b=\"x} 1\n",
                                          head + "a{b=\"\xff\"} 1\n",
                                          head + "b 1\n",
                                          head + "a 1\na 2\n",
                                          head + "a 1\na{b=\"\"} 2\n",
                                          head + "a 1\n" + head + "a{b=\"x\"} 1\n",
                                          head + "a 1\n# free comment\n",
                                          head + "a 1\n# EOF\n",
                                          "# TYPE a gauge\n# HELP a x\na 1\n",
                                          "# HELP a x\na 1\n",
                                          "# HELP a \\q\n# TYPE a gauge\na 1\n",
                                          "# HELP a x\n# TYPE a foo\na 1\n",
                                          "# HELP a x\n# HELP a x\n# TYPE a gauge\na 1\n",
                                          "# HELP 1 x\n# TYPE 1 gauge\n1 1\n"}) {
    EXPECT_FALSE(ParseTextStrictly(page).ok()) << page;
  }
}

TEST(StrictParser, RefusesEachBrokenRuleOfOpenMetrics) {
  const std::string counter = "# TYPE a counter\n";
  const std::string gauge = "# TYPE a gauge\n";
  for (const std::string& page : std::initializer_list<std::string>{
           "", gauge + "a 1\n", gauge + "a 1\n# EOF\n\n", gauge + "a 1\n# EOF\na 2\n",
           counter + "a 1\n# EOF\n", counter + "a_total -1\n# EOF\n",
           counter + "a_total NaN\n# EOF\n", "# TYPE a untyped\na 1\n# EOF\n",
           "# TYPE a histogram\na 1\n# EOF\n", gauge + "# HELP a x\n# UNIT a a\na 1\n# EOF\n",
           "# HELP a x\n# TYPE a gauge\na 1\n# EOF\n", gauge + "# UNIT a volts\na 1\n# EOF\n",
           counter + "a_total 1\n# TYPE a_total gauge\na_total 1\n# EOF\n",
           counter + "a_total 1\n# TYPE a_created gauge\na_created 1\n# EOF\n",
           gauge + "# HELP a \\q\na 1\n# EOF\n"}) {
    EXPECT_FALSE(ParseOpenMetricsStrictly(page).ok()) << page;
  }
}

}  // namespace
}  // namespace podgpu
