// Each rule of the tree check, by examples that break it and examples that keep it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

// A file in a small tree, the check, and the line that it must be refused for; 0: it is clean.
struct Row {
  const char* label;
  std::string path;
  std::string text;
  int line = 0;
};

Tree TreeWith(const Row& row) {
  Tree tree;
  tree.Add(row.path, row.text);  // The first file of a path is the one that is found.
  tree.Add("src/CMakeLists.txt",
           "# -- floor 0\n"
           "podgpu_room(base LINKS absl::status)\n"
           "# -- floor 1\n"
           "podgpu_room(topology USES base)\n"
           "# -- floor 2\n"
           "podgpu_room(kube USES base\n  LINKS podgpu_proto)\n"
           "podgpu_room(source FOLDERS nvml dcgm USES topology base TEST_USES kube_testing)\n");
  tree.Add("sim/CMakeLists.txt",
           "podgpu_sim_folder(world PLAIN)\n"
           "podgpu_sim_folder(dcgm PLAIN USES world)\n"
           "podgpu_sim_folder(program USES world)\n");
  tree.Add("docs/a.md", "# Two words!\n");
  tree.Add("sim/world/w.h", "");
  tree.Add("src/base/text.h", "");
  return tree;
}

using Check = void (*)(const Tree&, Complaints&);

void ExpectRows(Check check, const char* rule, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.label);
    Complaints complaints;
    check(TreeWith(row), complaints);
    std::erase_if(complaints, [&](const Complaint& found) { return found.file != row.path; });
    ASSERT_EQ(complaints.size(), row.line == 0 ? 0U : 1U);
    if (row.line != 0) {
      EXPECT_EQ(complaints[0].line, row.line);
      EXPECT_STREQ(complaints[0].rule, rule);
    }
  }
}

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "Step();\n";
  }
  return text;
}

TEST(Tidy, RefusesArrowsThatTheListOfRoomsDoesNotName) {
  ExpectRows(
      CheckArrows, kArrow,
      {
          {"own room", "src/kube/a.cc", "#include \"kube/a.h\"\n"},
          {"named room", "src/source/a.cc", "#include \"topology/a.h\"\n"},
          {"room not named", "src/source/a.cc", "\n#include \"kube/a.h\"\n", 2},
          {"room above", "src/base/a.h", "#include \"kube/a.h\"\n", 1},
          {"tests may use TEST_USES", "src/source/a_test.cc", "#include \"kube/a.h\"\n"},
          {"tests may not use others", "src/topology/a_test.cc", "#include \"kube/a.h\"\n", 1},
          {"tests may use the simulator", "src/source/a_test.cc", "#include \"sim/world.h\"\n"},
          {"rooms may not", "src/source/a.cc", "#include \"sim/world.h\"\n", 1},
          {"outside library", "src/base/a.cc", "#include \"absl/status/status.h\"\n"},
          {"messages where they are linked", "src/kube/a.cc", "#include \"v1.pb.h\"\n"},
          {"messages elsewhere", "src/source/a.cc", "#include \"v1.pb.h\"\n", 1},
          {"folder that is no room", "src/spare/a.cc", "", 1},
          {"the program", "src/main.cc", "#include \"kube/a.h\"\n"},
          {"a room declared below", "src/CMakeLists.txt",
           "podgpu_room(a USES b)\npodgpu_room(b USES a)\n", 1},
      });
}

TEST(Tidy, RefusesArrowsBetweenFoldersOfARoom) {
  ExpectRows(
      CheckArrows, kArrow,
      {
          {"own folder", "src/source/nvml/a.cc", "#include \"source/nvml/a.h\"\n"},
          {"folder before", "src/source/dcgm/a.cc", "#include \"source/nvml/a.h\"\n"},
          {"folder after", "src/source/nvml/a.cc", "#include \"source/dcgm/a.h\"\n", 1},
          {"folder from the room", "src/source/a.cc", "#include \"source/dcgm/a.h\"\n"},
          {"room from a folder", "src/source/nvml/a.cc", "#include \"source/a.h\"\n"},
          {"room not named", "src/source/nvml/a.cc", "#include \"kube/a.h\"\n", 1},
          {"folder not declared", "src/source/spare/a.cc", "", 1},
          {"fakes of the room", "src/source/dcgm/a_test.cc", "#include \"source/testing/a.h\"\n"},
      });
}

TEST(Tidy, RefusesArrowsOfTheSimulator) {
  ExpectRows(CheckArrows, kArrow,
             {
                 {"floor 1", "sim/world/a.cc", "#include \"topology/a.h\"\n"},
                 {"above floor 1", "sim/program/a.cc", "#include \"kube/a.h\"\n", 1},
                 {"plain with base", "sim/dcgm/a.cc", "#include \"base/text.h\"\n", 1},
                 {"plain with abseil", "sim/dcgm/a.cc", "#include <absl/status/status.h>\n", 1},
                 {"program with base", "sim/program/a.cc", "#include \"base/text.h\"\n"},
                 {"folder that is named", "sim/dcgm/a.cc", "#include \"sim/world/a.h\"\n"},
                 {"folder not named", "sim/world/a.cc", "#include \"sim/dcgm/a.h\"\n", 1},
                 {"folder not declared", "sim/spare/a.cc", "", 1},
                 {"no folder", "sim/a.cc", "", 1},
                 {"tests see all", "sim/world/a_test.cc", "#include \"sim/program/a.h\"\n"},
             });
}

TEST(Tidy, RefusesLongLinesAndFiles) {
  ExpectRows(CheckFiles, kLength,
             {
                 {"100 columns", "src/base/a.cc", "//" + std::string(98, 'x') + "\n"},
                 {"100 two-byte letters", "src/base/a.cc", std::string(98, 'x') + "\xc3\xa9\n"},
                 {"101 columns", "src/base/a.cc", "\n//" + std::string(99, 'x') + "\n", 2},
                 {"500 lines", "src/base/a.cc", Lines(500)},
                 {"501 lines", "src/base/a.cc", Lines(501), 501},
                 {"501 lines of table", "src/base/a.cc", "// tidy: table\n" + Lines(500)},
             });
  const std::string prose = "// one two three four five six seven eight nine ten\n";
  ExpectRows(CheckFiles, kLength,
             {{"200 lines", "src/base/a.h", prose + prose + Lines(198)},
              {"201 lines", "src/base/a.h", prose + prose + Lines(199), 201}});
  ExpectRows(CheckFiles, kHeaderProse,
             {{"20 words", "src/base/a.h", prose + prose + "#pragma once\n"},
              {"10 words", "src/base/a.h", prose + "#pragma once\n", 1}});
}

TEST(Tidy, FollowsLinksOfDocumentsToFilesAndHeadings) {
  ExpectRows(CheckLinks, kLink,
             {
                 {"file", "README.md", "[a](docs/a.md) and [b](https://x)\n"},
                 {"folder", "docs/b.md", "[a](../src/base)\n"},
                 {"heading", "README.md", "[a](docs/a.md#two-words)\n"},
                 {"own heading", "README.md", "## The `end`\n[a](#the-end)\n"},
                 {"no file", "README.md", "\n[a](docs/gone.md)\n", 2},
                 {"no heading", "README.md", "[a](docs/a.md#three)\n", 1},
                 {"definition", "README.md", "[a]: docs/a.md#two-words\n[b]: gone.md\n", 2},
                 {"a fenced block", "README.md", "```\n[f](gone)\n```\n"},
             });
}

TEST(Tidy, RefusesPathsOfFilesThatAreNotThere) {
  ExpectRows(CheckReferences, kReference,
             {
                 {"from the root", "src/base/x.cc", "// See src/base/text.h and docs/a.md.\n"},
                 {"from src", "src/base/x.cc", "// base/text.h reads numbers\n"},
                 {"from sim", "docs/x.md", "`world/w.h` is the world.\n"},
                 {"from its own folder", "src/x.md", "see base/text.h\n"},
                 {"gone", "src/base/x.cc", "int i;\n// See docs/gone.md.\n", 2},
                 {"gone from a room", "docs/x.md", "In `base/gone.h`.\n", 1},
                 {"gone from a folder of sim", "src/base/x.cc", "// (world/gone.h)\n", 1},
                 {"in a literal", "src/base/x.cc", "Say(\"see docs/gone.md\");\n", 1},
                 {"in CMake", "cmake/x.cmake", "# tests/a.md, src/gone.cc builds it\n", 1},
                 {"in a script", "dev", "#!/bin/sh\n# writes docs/gone.md\n", 2},
                 {"for the compiler", "src/base/x.cc", "#include \"base/gone.h\"\n"},
                 {"a pattern", "docs/x.md", "`docs/*.md` and `docs/${name}.md`\n"},
                 {"a folder of others", "src/base/x.cc", "// (libstdc++ 12, ext/atomicity.h)\n"},
                 {"an address", "docs/x.md", "https://example.com/docs/gone.md\n"},
                 {"an absolute path", "docs/x.md", "/etc/base/gone.yaml\n"},
                 {"a source", "src/base/x.cc", "// As text.h says.\n"},
                 {"a source that is gone", "src/base/x.cc", "// As gone.h says.\n", 1},
                 {"a header of the vendor", "src/base/x.cc", "// dcgm_structs.h, nvml.h\n"},
                 {"a source in a document", "docs/x.md", "`x.h` is the header of `x.cc`.\n"},
                 {"a suffix", "src/base/x.cc", "// Tests end in _test.cc.\n"},
             });
}

}  // namespace
}  // namespace podgpu::tidy
