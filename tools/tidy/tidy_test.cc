// Each rule of the tree check, by an example that breaks it and one that keeps it.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

constexpr std::string_view kRoomList =
    "# -- floor 0\n"
    "podgpu_room(base LINKS absl::status)\n"
    "# -- floor 1\n"
    "podgpu_room(topology USES base)\n"
    "# -- floor 2\n"
    "podgpu_room(kube USES base\n  LINKS podgpu_proto)\n"
    "podgpu_room(source FOLDERS nvml dcgm USES topology base TEST_USES kube)\n";

constexpr std::string_view kSimList =
    "podgpu_sim_folder(world PLAIN)\n"
    "podgpu_sim_folder(dcgm PLAIN USES world)\n"
    "podgpu_sim_folder(program USES world)\n";

const std::string kProse =
    "// One two three four five six seven eight nine ten eleven twelve thirteen fourteen\n"
    "// fifteen sixteen seventeen eighteen nineteen twenty.\n#pragma once\n";

Tree TreeOf(std::vector<std::pair<std::string, std::string>> files) {
  Tree tree;
  tree.files.emplace_back("src/CMakeLists.txt", std::string(kRoomList));
  tree.files.emplace_back("sim/CMakeLists.txt", std::string(kSimList));
  for (auto& [path, text] : files) {
    tree.files.emplace_back(std::move(path), std::move(text));
  }
  return tree;
}

using Check = void (*)(const Tree&, Complaints&);

// What a check says about one file beside the list of rooms.
Complaints Complain(Check check, std::string path, std::string text) {
  Complaints complaints;
  check(TreeOf({{std::move(path), std::move(text)}}), complaints);
  return complaints;
}

std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "  Step();\n";
  }
  return text;
}

// One row: a file, the check, and the rule and line that it must be refused for.  Line 0: it is
// clean.
struct Row {
  const char* label;
  Check check;
  std::string path;
  std::string text;
  Rule rule = Rule::kArrow;
  int line = 0;
};

std::vector<Row> ArrowRows() {
  return {
      {"own room", CheckArrows, "src/kube/a.cc", "#include \"kube/a.h\"\n"},
      {"named room", CheckArrows, "src/source/a.cc", "#include \"topology/a.h\"\n"},
      {"room not named", CheckArrows, "src/source/a.cc", "\n#include \"kube/a.h\"\n", Rule::kArrow,
       2},
      {"room above", CheckArrows, "src/base/a.h", "#include \"kube/a.h\"\n", Rule::kArrow, 1},
      {"tests may use TEST_USES", CheckArrows, "src/source/a_test.cc", "#include \"kube/a.h\"\n"},
      {"tests may not use others", CheckArrows, "src/topology/a_test.cc", "#include \"kube/a.h\"\n",
       Rule::kArrow, 1},
      {"tests may use the simulator", CheckArrows, "src/source/a_test.cc",
       "#include \"sim/world.h\"\n"},
      {"rooms may not use the simulator", CheckArrows, "src/source/a.cc",
       "#include \"sim/world.h\"\n", Rule::kArrow, 1},
      {"outside library", CheckArrows, "src/base/a.cc", "#include \"absl/status/status.h\"\n"},
      {"messages where they are linked", CheckArrows, "src/kube/a.cc", "#include \"v1.pb.h\"\n"},
      {"messages elsewhere", CheckArrows, "src/source/a.cc", "#include \"v1.pb.h\"\n", Rule::kArrow,
       1},
      {"folder that is no room", CheckArrows, "src/spare/a.cc", "", Rule::kArrow, 1},
  };
}

std::vector<Row> FolderRows() {
  const Rule sim = Rule::kSimArrow;
  return {
      {"own folder", CheckArrows, "src/source/nvml/a.cc", "#include \"source/nvml/a.h\"\n"},
      {"folder before", CheckArrows, "src/source/dcgm/a.cc", "#include \"source/nvml/a.h\"\n"},
      {"folder after", CheckArrows, "src/source/nvml/a.cc", "#include \"source/dcgm/a.h\"\n",
       Rule::kArrow, 1},
      {"folder from the room", CheckArrows, "src/source/a.cc", "#include \"source/dcgm/a.h\"\n"},
      {"room from a folder", CheckArrows, "src/source/nvml/a.cc", "#include \"source/a.h\"\n"},
      {"folder with a room not named", CheckArrows, "src/source/nvml/a.cc",
       "#include \"kube/a.h\"\n", Rule::kArrow, 1},
      {"folder not declared", CheckArrows, "src/source/spare/a.cc", "", Rule::kArrow, 1},
      {"fakes of the room", CheckArrows, "src/source/dcgm/a_test.cc",
       "#include \"source/testing/a.h\"\n"},
      {"sim at floor 1", CheckArrows, "sim/world/a.cc", "#include \"topology/a.h\"\n"},
      {"sim above floor 1", CheckArrows, "sim/program/a.cc", "#include \"kube/a.h\"\n", sim, 1},
      {"face with base", CheckArrows, "sim/dcgm/a.cc", "#include \"base/text.h\"\n", sim, 1},
      {"face with abseil", CheckArrows, "sim/dcgm/a.cc", "#include <absl/status/status.h>\n", sim,
       1},
      {"program of sim with base", CheckArrows, "sim/program/a.cc", "#include \"base/text.h\"\n"},
      {"folder of sim that is named", CheckArrows, "sim/dcgm/a.cc", "#include \"sim/world/a.h\"\n"},
      {"folder of sim that is not named", CheckArrows, "sim/world/a.cc",
       "#include \"sim/dcgm/a.h\"\n", sim, 1},
      {"folder of sim not declared", CheckArrows, "sim/spare/a.cc", "", sim, 1},
      {"file of sim in no folder", CheckArrows, "sim/a.cc", "", sim, 1},
      {"tests of sim see all", CheckArrows, "sim/world/a_test.cc",
       "#include \"sim/program/a.h\"\n"},
  };
}

std::vector<Row> BudgetRows() {
  return {
      {"100 columns", CheckBudgets, "src/base/a.cc", "//" + std::string(98, 'x') + "\n"},
      {"100 columns of two-byte letters", CheckBudgets, "src/base/a.cc",
       "// " + std::string("\xC3\xA9\xC3\xA9") + std::string(95, 'x') + "\n"},
      {"101 columns", CheckBudgets, "src/base/a.cc", "\n//" + std::string(99, 'x') + "\n",
       Rule::kLineLength, 2},
      {"70 lines of function", CheckBudgets, "src/base/a_test.cc",
       "void F() {\n" + Lines(69) + "}\n"},
      {"71 lines of function", CheckBudgets, "src/base/a_test.cc",
       "namespace a {\nvoid F() {\n" + Lines(70) + "}\n}\n", Rule::kFunctionLength, 2},
      {"a method of 71 lines", CheckBudgets, "src/base/a_test.cc",
       "class A final : public B {\n  int x_{3};\n  A() : x_{4} {\n" + Lines(70) + "}\n};\n",
       Rule::kFunctionLength, 3},
      {"a table of 71 lines is no function", CheckBudgets, "src/base/a.cc",
       "constexpr Row kRows[] = {\n" + Lines(80) + "};\n"},
      {"braces in literals and comments do not count", CheckBudgets, "src/base/a_test.cc",
       "void F() {\n  Say(\"{\", '{', R\"({)\");  // {\n}\n" + Lines(80) + "void G() {}\n"},
      {"one long function of one", CheckBudgets, "src/base/a.cc",
       "void F() {\n" + Lines(45) + "}\n", Rule::kLongFunctions, 1},
      {"200 lines of header", CheckBudgets, "src/base/a.h", Lines(200)},
      {"201 lines of header", CheckBudgets, "src/base/a.h", Lines(201), Rule::kHeaderLength, 201},
      {"501 lines of file", CheckBudgets, "src/base/a.cc", Lines(501), Rule::kFileLength, 501},
      {"501 lines of table", CheckBudgets, "src/base/a.cc", "// tidy: table\n" + Lines(500)},
  };
}

std::vector<Row> CallRows() {
  const auto row = [](const char* label, std::string path, std::string text, int line = 0) {
    return Row{label, CheckCalls, std::move(path), std::move(text), Rule::kForbiddenCall, line};
  };
  return {
      row("clock outside its file", "src/kube/a.cc", "auto t = std::chrono::steady_clock::now();\n",
          1),
      row("clock at home", "src/base/clock.cc", "auto t = std::chrono::steady_clock::now();\n"),
      row("environment in a room", "src/kube/a.cc", "auto* p = std::getenv(\"A\");\n", 1),
      row("environment in cli", "src/cli/a.cc", "auto* p = std::getenv(\"A\");\n"),
      row("environment in a test", "src/kube/a_test.cc", "auto* p = std::getenv(\"A\");\n"),
      row("sleep in a test", "tests/e2e/a.cc", "\nstd::this_thread::sleep_for(x);\n", 2),
      row("exceptions for numbers", "src/kube/a.cc", "int i = std::stoi(text);\n", 1),
      row("unseeded numbers", "src/kube/a.cc", "int i = rand();\n", 1),
      row("a name that ends alike", "src/kube/a.cc", "int i = Operand(1) + my_rand();\n"),
      row("a method of that name", "src/kube/a.cc", "loop.system(1);\n"),
      row("in a comment", "src/kube/a.cc", "// not rand() but a seed\n"),
      row("in a literal", "src/kube/a.cc", "Say(\"rand()\");\n"),
      row("iostream", "src/kube/a.cc", "#include <iostream>\n", 1),
      row("regular expressions", "src/kube/a.cc", "std::regex r;\n", 1),
      row("a shell-out", "src/kube/a.cc", "std::system(line);\n", 1),
      row("absl's mutex", "src/kube/a.cc", "absl::Mutex mutex;\n", 1),
      row("an exception with its reason", "src/kube/a.cc",
          "// tidy: allow forbidden-call: the header of a test\nint i = rand();\n"),
      row("an exception without reason", "src/kube/a.cc",
          "// tidy: allow forbidden-call: \nint i = rand();\n", 2),
  };
}

std::vector<Row> OtherRows() {
  return {
      {"open end", CheckCalls, "src/kube/a.cc",
       "\n// TO"
       "DO: later\n",
       Rule::kOpenEnd, 2},
      {"open end with its issue", CheckCalls, "src/kube/a.cc",
       "// TO"
       "DO(#12): later\n"},
      {"no prose", CheckHeaders, "src/base/a.h", "// A header.\n#pragma once\n", Rule::kHeaderProse,
       1},
      {"prose", CheckHeaders, "src/base/a.h", kProse},
      {"weighty header", CheckHeaders, "src/base/a.h", kProse + "#include <boost/asio.hpp>\n",
       Rule::kWeightyHeader, 4},
      {"messages in a header", CheckHeaders, "src/base/a.h", kProse + "#include \"v1.pb.h\"\n",
       Rule::kWeightyHeader, 4},
      {"weighty header in a source", CheckHeaders, "src/base/a.cc", "#include <boost/asio.hpp>\n"},
      {"header that nothing includes", CheckReach, "src/base/a.h", "", Rule::kDeadFile, 1},
      {"source of a room", CheckReach, "src/base/a.cc", ""},
      {"source that no target names", CheckReach, "src/a.cc", "", Rule::kDeadFile, 1},
      {"source in a folder without targets", CheckReach, "tests/e2e/a.cc", "", Rule::kDeadFile, 1},
  };
}

void ExpectRow(const Row& row) {
  SCOPED_TRACE(row.label);
  const Complaints complaints = Complain(row.check, row.path, row.text);
  if (row.line == 0) {
    EXPECT_TRUE(complaints.empty()) << Format(complaints.front());
    return;
  }
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_EQ(NameOf(complaints[0].rule), NameOf(row.rule));
  EXPECT_EQ(complaints[0].line, row.line);
  EXPECT_EQ(complaints[0].file, row.path);
}

TEST(Tidy, RefusesArrowsThatTheListOfRoomsDoesNotName) {
  for (const Row& row : ArrowRows()) {
    ExpectRow(row);
  }
}

TEST(Tidy, HoldsArrowsBetweenFoldersOfARoomAndOfTheSimulator) {
  for (const Row& row : FolderRows()) {
    ExpectRow(row);
  }
}

TEST(Tidy, HoldsBudgets) {
  for (const Row& row : BudgetRows()) {
    ExpectRow(row);
  }
}

TEST(Tidy, KeepsForbiddenCallsOut) {
  for (const Row& row : CallRows()) {
    ExpectRow(row);
  }
}

TEST(Tidy, LooksAtHeadersAndReach) {
  for (const Row& row : OtherRows()) {
    ExpectRow(row);
  }
}

TEST(Tidy, RefusesARoomThatUsesOneDeclaredBelowIt) {
  Tree tree;
  tree.files.emplace_back("src/CMakeLists.txt", "podgpu_room(a USES b)\npodgpu_room(b USES a)\n");
  Complaints complaints;
  CheckArrows(tree, complaints);
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_EQ(complaints[0].line, 1);
}

TEST(Tidy, CountsAHeaderAsUsedWhenAnotherFileIncludesIt) {
  Complaints complaints;
  CheckReach(TreeOf({{"src/base/a.h", ""}, {"src/base/a.cc", "#include \"base/a.h\"\n"}}),
             complaints);
  EXPECT_TRUE(complaints.empty());
}

TEST(Tidy, CountsASourceAsUsedWhenATargetNamesItOrAPatternMatchesIt) {
  Complaints complaints;
  CheckReach(TreeOf({{"sim/CMakeLists.txt",
                      "add_library(x SHARED a.cc)\nfile(GLOB y \"b*.cc\")\n"
                      "foreach(z 1 2)\nadd_library(z sub/lib_${z}.cc)\n"},
                     {"sim/a.cc", ""},
                     {"sim/b_one.cc", ""},
                     {"sim/sub/lib_1.cc", ""},
                     {"sim/c.cc", ""}}),
             complaints);
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_EQ(complaints[0].file, "sim/c.cc");
}

TEST(Tidy, NoticesALeftOutTestThatDoesNotExist) {
  const Tree tree = TreeOf({{"docs/arm64.md",
                             "| `Page.IsServed` | starts podgpu |\n"
                             "| `Page.*` | starts podgpu |\n"
                             "| `All/Every.Value/*` | reads /proc |\n"
                             "| `Page.IsGone` | starts podgpu |\n"
                             "| `Gone.*` | starts podgpu |\n"
                             "| test | reason |\n"},
                            {"src/base/a_test.cc",
                             "TEST_F(Page,\n       IsServed) {}\nTEST_P(Every, Value) {}\n"
                             "// TEST(Page, IsGone)\n"}});
  Complaints complaints;
  CheckLeftOut(tree, complaints);
  ASSERT_EQ(complaints.size(), 2U);
  EXPECT_EQ(complaints[0].line, 4);
  EXPECT_EQ(complaints[0].rule, Rule::kLostTest);
  EXPECT_EQ(complaints[1].line, 5);
}

TEST(Tidy, FollowsLinksOfDocumentsToFilesAndHeadings) {
  const Tree tree = TreeOf({{"README.md",
                             "[a](docs/a.md) [b](docs/a.md#two-words) [c](https://x)\n"
                             "[d](docs/gone.md)\n"
                             "[e](docs/a.md#three)\n"
                             "```\n[f](gone)\n```\n"},
                            {"docs/a.md", "# Two words!\n[up](../README.md)\n"}});
  Complaints complaints;
  CheckLinks(
      tree, [&tree](const std::string& path) { return tree.Find(path) != nullptr; }, complaints);
  ASSERT_EQ(complaints.size(), 2U);
  EXPECT_EQ(complaints[0].line, 2);
  EXPECT_EQ(complaints[1].line, 3);
}

TEST(Tidy, SaysFileLineRuleAndTheSentenceBehindIt) {
  EXPECT_EQ(Format({"src/a/b.h", 7, Rule::kHeaderLength, "it has 240 lines"}),
            "src/a/b.h:7: header-length: it has 240 lines. A header has at most 200 lines.");
}

}  // namespace
}  // namespace podgpu::tidy
