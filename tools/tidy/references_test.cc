// Files and documents that comments and documents name, by examples that are there and that are
// not.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/tidy/checks.h"
#include "tools/tidy/prose.h"

namespace podgpu::tidy {
namespace {

// Lines of `path`, whose text is `text`, at which CheckReferences complains.
std::vector<int> RefusedLines(const std::string& path, const std::string& text) {
  Tree tree;
  for (const char* there : {"docs/a.md", "sim/world/w.h", "src/base/text.h", "tests/all.h"}) {
    tree.files.emplace_back(there, "");
  }
  tree.files.emplace_back(path, text);
  Complaints complaints;
  CheckReferences(
      tree, [&tree](const std::string& name) { return tree.Find(name) != nullptr; }, complaints);
  std::vector<int> lines;
  for (const Complaint& complaint : complaints) {
    EXPECT_EQ(complaint.rule, Rule::kDeadReference);
    lines.push_back(complaint.line);
  }
  return lines;
}

struct ReferenceRow {
  const char* label;
  const char* path;
  const char* text;
  std::vector<int> lines;  // At which it is refused.
};

void ExpectReferenceRow(const ReferenceRow& row) {
  SCOPED_TRACE(row.label);
  EXPECT_EQ(RefusedLines(row.path, row.text), row.lines);
}

TEST(TidyReferences, RefusesPathsOfFilesThatAreNotThere) {
  const std::vector<ReferenceRow> rows = {
      {"from the root", "src/base/x.cc", "// See src/base/text.h and docs/a.md.\n", {}},
      {"from src", "src/base/x.cc", "// base/text.h reads numbers\n", {}},
      {"from sim", "docs/x.md", "`world/w.h` is the world.\n", {}},
      {"from its own folder", "src/base/x.cc", "// see base/text.h\n", {}},
      {"gone from the root", "src/base/x.cc", "int i;\n// See docs/gone.md.\n", {2}},
      {"gone from a room", "docs/x.md", "In `base/gone.h`.\n", {1}},
      {"gone from a folder of sim", "src/base/x.cc", "// (world/gone.h)\n", {1}},
      {"in a literal", "src/base/x.cc", "Say(\"see docs/gone.md\");\n", {1}},
      {"in CMake", "src/CMakeLists.txt", "# tests/gone.cc builds it\n", {1}},
      {"in a script", "dev", "#!/bin/sh\n# writes docs/gone.md\n", {2}},
      {"a line that the compiler checks", "src/base/x.cc", "#include \"base/gone.h\"\n", {}},
      {"code", "src/base/x.cc", "int docs = base/gone.h;\n", {}},
      {"a pattern", "docs/x.md", "`docs/*.md` and `docs/${name}.md`\n", {}},
      {"a folder of others", "src/base/x.cc", "// (libstdc++ 12, ext/atomicity.h)\n", {}},
      {"an address", "docs/x.md", "https://example.com/docs/gone.md\n", {}},
      {"an absolute path", "docs/x.md", "/etc/base/gone.yaml\n", {}},
      {"a path above", "docs/x.md", "../docs/gone.md\n", {}},
      {"an exception with its reason",
       "docs/x.md",
       "<!-- tidy: allow dead-reference: an example -->\n`docs/gone.md`\n",
       {}},
  };
  for (const ReferenceRow& row : rows) {
    ExpectReferenceRow(row);
  }
}

TEST(TidyReferences, RefusesNamesOfSourcesThatAreNotThereInSourcesOnly) {
  const std::vector<ReferenceRow> rows = {
      {"there", "src/base/x.cc", "// As text.h says.\n", {}},
      {"gone", "src/base/x.cc", "// As gone.h says (gone_test.cc).\n", {1, 1}},
      {"of the vendor", "src/base/x.cc", "// dcgm_structs.h, nvml.h\n", {}},
      {"in a document", "docs/x.md", "`x.h` is the header of `x.cc`.\n", {}},
      {"a suffix", "src/base/x.cc", "// Tests end in _test.cc.\n", {}},
  };
  for (const ReferenceRow& row : rows) {
    ExpectReferenceRow(row);
  }
}

TEST(TidyReferences, RefusesDocumentsThatReadersDoNotHave) {
  const std::vector<ReferenceRow> rows = {
      {"named", "src/base/x.cc", "// Strict (behaviour document, section 2).\n", {1}},
      {"across lines", "src/base/x.cc", "//\n// As the simulator\n// facts say.\n", {2}},
      {"with a number", "src/base/x.cc", "// (experience 6.1)\n", {1}},
      {"a word without a number", "docs/x.md", "Experience shows that it works.\n", {}},
      {"a file", "docs/x.md", "see design.md\n", {1}},
      {"another sentence", "docs/x.md", "A simulator. Facts follow.\n", {}},
      {"an identifier", "src/base/x.cc", "Seed seed_systems;\n", {}},
  };
  for (const ReferenceRow& row : rows) {
    ExpectReferenceRow(row);
  }
}

TEST(TidyReferences, FindsPhrasesAcrossLinesMarksAndLiterals) {
  constexpr std::string_view kWanted[] = {"is to go", "one"};
  const std::vector<Phrase> found =
      PhrasesIn("// It Is to\n// go. \"is \"\n  \"to go\" is, to go; one's", kWanted);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].at, 6U);
  EXPECT_EQ(found[1].text, "is to go");
  EXPECT_EQ(found[2].text, "one");
}

}  // namespace
}  // namespace podgpu::tidy
