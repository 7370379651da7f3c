#include "ui/page_assets.h"

#include <gtest/gtest.h>

#include "exposition/gzip.h"
#include "ui/status_page.h"
#include "ui/testing/sample_status.h"

namespace podgpu {
namespace {

TEST(PageAssets, ServesEachFileWithItsTypeAndTag) {
  PageAssets assets(NodeFiles());
  assets.Add(NodePageGuide());
  HttpRequest request;
  EXPECT_EQ(assets.Serve("/assets/node.js", request).content_type,
            "text/javascript; charset=utf-8");
  const HttpResponse style = assets.Serve("/assets/node.css", request);
  EXPECT_EQ(style.content_type, "text/css; charset=utf-8");
  EXPECT_TRUE(style.body.starts_with(":root {\n  --ground:")) << style.body.substr(0, 80);
  EXPECT_EQ(assets.Serve("/assets/node-page.md", request).content_type,
            "text/plain; charset=utf-8");
  EXPECT_FALSE(assets.Has("/assets/tokens.css"));
  EXPECT_FALSE(assets.Has("/"));
  request.if_none_match = assets.documents().at("/assets/node.css")->etag;
  EXPECT_EQ(assets.Serve("/assets/node.css", request).status, 304);
}

TEST(PageAssets, SendsScriptsWithoutCommentsAndIndentation) {
  constexpr std::string_view kScript =
      "// Says where.\nexport const at = 1;\n\nfunction f() {\n  // Why.\n  return '//' + at;  // "
      "Here.\n}\n";
  const EmbeddedFile files[] = {{"own.js", kScript}};
  const PageAssets assets(files);
  EXPECT_EQ(assets.documents().at("/assets/own.js")->bytes,
            "export const at = 1;\nfunction f() {\nreturn '//' + at;\n}\n");
}

TEST(PageAssets, OfTheNodePageNameNoOtherOriginAndHaveNothingInline) {
  for (const EmbeddedFile& file : NodeFiles()) {
    for (const std::string_view word : {"http:", "https:", " style=", "innerHTML", ".style."}) {
      EXPECT_EQ(file.bytes.find(word), std::string_view::npos) << file.name << " has " << word;
    }
  }
}

// What a browser loads at first takes 40 KB, or 14 KB compressed, without data.
TEST(PageAssets, Statement20OfTheNodePageAreSmall) {
  NodeStatus empty = testing::WaitingNode();
  empty.parts.clear();
  const std::string page = RenderStatusPage({"n", "1.0.0", &empty, 0, {"/metrics"}});
  size_t bytes = page.size();
  size_t sent = Gzip(page).size();
  const PageAssets assets(NodeFiles());
  for (const auto& [path, document] : assets.documents()) {
    bytes += document->bytes.size();
    sent += Gzip(document->bytes).size();
  }
  EXPECT_GT(bytes, 10'000U);
  EXPECT_LE(bytes, 40'000U);
  EXPECT_LE(sent, 14'000U);
}

}  // namespace
}  // namespace podgpu
