#include "cluster/fleet_links.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(FleetLinks, AreUrlsWithThePlaceOfANode) {
  for (const char* url :
       {"", "http://{node}:9400/", "https://grafana.example/d/gpu?var-node={node}",
        "http://[fd00::1]:9400/", "https://proxy/{node}/of/{node}"}) {
    for (const auto parse : {ParseNodeLink, ParseDashboardLink}) {
      const StatusOr<std::string> link = parse(url);
      ASSERT_TRUE(link.ok()) << url << ": " << link.status();
      EXPECT_EQ(*link, url);
    }
  }
}

TEST(FleetLinks, OfADashboardHavePlacesOfAGpu) {
  const std::string url = "https://grafana.example/d/gpu?var-gpu={gpu}&var-uuid={uuid}";
  EXPECT_EQ(ParseDashboardLink(url).value(), url);
  EXPECT_EQ(ParseNodeLink(url).status().message(),
            "knows only {node}, which stands for the name of the node");
  EXPECT_TRUE(FleetLinks({.dashboard_url = url}).wants_uuids());
  EXPECT_FALSE(FleetLinks({.dashboard_url = "https://g/{gpu}"}).wants_uuids());
}

TEST(FleetLinks, BackToTheFleetPageHaveNoPlaces) {
  EXPECT_EQ(ParseFleetLink("https://podgpu.example/?group=pool").value(),
            "https://podgpu.example/?group=pool");
  EXPECT_EQ(ParseFleetLink("https://{node}/").status().message(), "knows no names in braces");
}

TEST(FleetLinks, AreRefusedWithAReason) {
  const std::pair<std::string, std::string_view> rows[] = {
      {"javascript:alert(1)", "must be http://HOST/"},
      {"{node}:9400", "must be http://HOST/"},
      {"http://", "must be http://HOST/"},
      {"https:///{node}", "must be http://HOST/"},
      {"http://{host}/", "knows only {node}"},
      {"http://{node/", "knows only {node}"},
      {"http://{NODE}/", "knows only {node}"},
      {"http://{node}/ x", "without blanks"},
      {"http://{node}/\"", "without blanks"},
      {"http://n/\xc3\xa4", "all of them ASCII"},
      {"http://n/" + std::string(1'024, 'x'), "at most 1024 bytes"},
  };
  for (const auto& [url, why] : rows) {
    for (const auto parse : {ParseNodeLink, ParseDashboardLink}) {
      const StatusOr<std::string> link = parse(url);
      ASSERT_FALSE(link.ok()) << url;
      EXPECT_NE(link.status().message().find(std::string(why)), std::string::npos) << link.status();
    }
  }
}

}  // namespace
}  // namespace podgpu
