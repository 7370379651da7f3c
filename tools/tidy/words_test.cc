// Words that the tree check refuses, by texts that have them and texts that do not.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

struct WordRow {
  const char* label;
  const char* path;
  const char* text;
  std::vector<int> lines;  // At which it is refused.
};

void ExpectWordRow(const WordRow& row) {
  SCOPED_TRACE(row.label);
  Tree tree;
  tree.files.emplace_back(row.path, row.text);
  Complaints complaints;
  CheckWords(tree, complaints);
  std::vector<int> lines;
  for (const Complaint& complaint : complaints) {
    EXPECT_EQ(complaint.rule, Rule::kPlainEnglish);
    lines.push_back(complaint.line);
  }
  EXPECT_EQ(lines, row.lines);
}

TEST(TidyWords, RefusesWordsThatReadersStumbleOver) {
  const std::vector<WordRow> rows = {
      {"a comment", "src/base/x.cc", "int i;\n// Made anew.\n", {2}},
      {"a header", "src/base/x.h", "// Nobody reads it.\n", {1}},
      {"a literal", "src/base/x.cc", "Say(\"it is let go of\");\n", {1}},
      {"a possessive", "docs/x.md", "| nobody's |\n", {1}},
      {"two on one line", "docs/x.md", "Whoever asks, whom it serves.\n", {1, 1}},
      {"across lines of a comment", "src/base/x.cc", "// It is to\n// be read.\n", {1}},
      {"CMake", "CMakeLists.txt", "# Read anew.\n", {1}},
      {"a script", "dev", "#!/bin/sh\n# made anew\n", {2}},
      {"the name of a test", "src/base/x_test.cc", "\nTEST(X, AsksNobodyAnyLonger) {\n", {2}},
      {"better words",
       "src/base/x.cc",
       "// Made again; no process reads it.  It is too big.\n",
       {}},
      {"part of a word", "src/base/x.cc", "// renewed, whomsoever\n", {}},
      {"other sentences", "docs/x.md", "That is to. Be there.\n", {}},
  };
  for (const WordRow& row : rows) {
    ExpectWordRow(row);
  }
}

TEST(TidyWords, LeavesCodeQuotesAndExceptionsAlone) {
  const std::vector<WordRow> rows = {
      {"code", "src/base/x.cc", "int nobody = anew();\n", {}},
      {"a code span", "docs/x.md", "not `nobody`, not `anew`\n", {}},
      {"after a code span", "docs/x.md", "`podgpu` anew\n", {1}},
      {"a fenced block", "docs/x.md", "```text\nnobody\n```\nanew\n", {4}},
      {"an exception with its reason",
       "src/base/x.cc",
       "// tidy: allow plain-english: the name of a user\n// nobody\n",
       {}},
      {"an exception without reason",
       "src/base/x.cc",
       "// tidy: allow plain-english: \n// nobody\n",
       {2}},
  };
  for (const WordRow& row : rows) {
    ExpectWordRow(row);
  }
}

}  // namespace
}  // namespace podgpu::tidy
