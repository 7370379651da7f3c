#include "cluster/fleet_page.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "exposition/gzip.h"

namespace podgpu {
namespace {

std::string HeaderIn(const HttpResponse& response, std::string_view name) {
  const auto found =
      std::ranges::find(response.headers, name, &std::pair<std::string, std::string>::first);
  return found == response.headers.end() ? "" : found->second;
}

TEST(FleetPage, IsServedWithAPolicyThatForbidsOtherOrigins) {
  const PageAssets page = MakeFleetPage();
  HttpRequest request;
  const HttpResponse html = page.Serve("/", request);
  EXPECT_EQ(html.status, 200);
  EXPECT_EQ(html.content_type, "text/html; charset=utf-8");
  EXPECT_TRUE(html.body.starts_with("<!DOCTYPE html>\n")) << html.body.substr(0, 80);
  EXPECT_TRUE(html.body.ends_with("</html>\n"));
  for (const std::string_view part :
       {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"}) {
    EXPECT_NE(HeaderIn(html, "Content-Security-Policy").find(part), std::string::npos) << part;
  }
  EXPECT_EQ(page.Serve("/assets/fleet.js", request).content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(page.Serve("/assets/fleet.css", request).content_type, "text/css; charset=utf-8");
  EXPECT_FALSE(page.Has("/assets/fleet.html"));
  EXPECT_FALSE(page.Has("/assets/"));
  const std::string etag = HeaderIn(html, "ETag");
  request.if_none_match = etag;
  EXPECT_EQ(page.Serve("/", request).status, 304);
}

TEST(FleetPage, NamesNoOtherOriginAndHasNothingInline) {
  for (const EmbeddedFile& file : FleetFiles()) {
    EXPECT_EQ(file.bytes.find("http:"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.bytes.find("https:"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.bytes.find(" style="), std::string_view::npos) << file.name;
    EXPECT_EQ(file.bytes.find("innerHTML"), std::string_view::npos)
        << file.name << ": names from nodes go into the page as text";
  }
}

// Loading the page costs 60 KB, or 20 KB compressed.
TEST(FleetPage, IsSmall) {
  size_t bytes = 0;
  size_t sent = 0;
  const PageAssets page = MakeFleetPage();
  for (const auto& [path, document] : page.documents()) {
    bytes += document->bytes.size();
    sent += Gzip(document->bytes).size();
  }
  EXPECT_GT(bytes, 20'000U);
  EXPECT_LE(bytes, 60'000U);
  EXPECT_LE(sent, 20'000U);
}

}  // namespace
}  // namespace podgpu
