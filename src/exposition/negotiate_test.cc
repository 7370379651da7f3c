#include "exposition/negotiate.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";

TEST(ChooseForm, GivesOpenMetricsOnlyToClientsThatTakeNoText) {
  struct Case {
    std::string accept;
    bool openmetrics;
  };
  const std::string om(kOpenMetrics);
  for (const Case& c : std::initializer_list<Case>{
           {"", false},
           {"*/*", false},
           {"garbage", false},
           {";;,,=\"", false},
           {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false},
           {om, true},
           {"Application/OpenMetrics-Text ; Version=1.0.0", true},
           {om + ";version=\"1.0.0\"", true},
           {om + ";version=0.0.1", false},
           {om + ";version=1.0.0;q=0", false},
           {om + ";version=1.0.0;q=0.5,text/plain;q=0.6", false},
           {om + ";version=1.0.0;q=0.6,text/plain;q=0.5", false},
           {om + ";q=0.6,text/plain;q=0", true},
           {om + ",text/plain;q=0,*/*;q=0.1", true},
           {om + ",*/*;q=0", true},
           {om + ",text/plain", false},
           {"text/plain," + om, false},
           {om + ";q=0.7,*/*;q=0.1", false},
           {"text/*;q=0.9," + om + ";q=0.7", false},
           {"text/plain;version=1.0.0," + om + ";q=0.1", true},
           {om + ";q=1.5", false},
           {om + ";q=x", false},
           {om + ";q", false},
           {"text/plain;note=\"a,b;q=0\";q=0.2," + om + ";q=0.3", false},
           {"text/plain;note=\"a\\\",application/openmetrics-text;q=0.1\"", false},
           {om + ";version=1.0.0," + om +
                ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
                "*/*;q=0.1",
            false},
           {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            "encoding=delimited;q=0.7," +
                om + ";version=1.0.0;escaping=allow-utf-8;q=0.6," + om +
                ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            false}}) {
    EXPECT_EQ(ChooseForm(c.accept, "").openmetrics, c.openmetrics) << c.accept;
    EXPECT_FALSE(ChooseForm(c.accept, "").gzip);
  }
}

TEST(ChooseForm, CompressesOnlyForClientsThatAcceptGzip) {
  struct Case {
    std::string_view accept_encoding;
    bool gzip;
  };
  for (const Case& c : std::initializer_list<Case>{{"", false},
                                                   {"gzip", true},
                                                   {"GZIP", true},
                                                   {"x-gzip", true},
                                                   {"deflate, gzip;q=1.0, br", true},
                                                   {"gzip;q=0", false},
                                                   {"gzip;q=0.000", false},
                                                   {"gzip;q=0, *", false},
                                                   {"*", true},
                                                   {"*;q=0", false},
                                                   {"br", false},
                                                   {"notgzip", false},
                                                   {"identity", false},
                                                   {"identity, gzip", true},
                                                   {"identity, gzip;q=0.5", false},
                                                   {"identity;q=0.5, gzip", true}}) {
    EXPECT_EQ(ChooseForm("", c.accept_encoding).gzip, c.gzip) << c.accept_encoding;
  }
}

}  // namespace
}  // namespace podgpu
