// docs/conformance.md is generated from the list of lines, and the list is complete: every test
// that it names exists, in this program or in a room, and it names every test of this program.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "tests/conformance/conformance_lines.h"

namespace podgpu {
namespace {

constexpr const char* kDocument = "docs/conformance.md";

std::string Table(std::string_view first, std::string_view second,
                  std::span<const ConformanceLine> lines) {
  std::string text =
      absl::StrFormat("| %s | %s | test | podgpu |\n|---|---|---|---|\n", first, second);
  for (const ConformanceLine& line : lines) {
    const std::string test = line.test.empty() ? "none" : absl::StrFormat("`%s`", line.test);
    absl::StrAppendFormat(&text, "| %s | %s | %s | %s |\n", line.subject, line.line, test,
                          line.difference);
  }
  return text;
}

std::string ConformanceDocument() {
  return absl::StrFormat(
      "# Conformance with dcgm-exporter\n\n"
      "Made from `tests/conformance/conformance_lines.cc`; a test rewrites it with "
      "`PODGPU_UPDATE_GOLDEN=1`. A test named here\n"
      "is in `conformance_test` or beside the code that it tests; `./dev test` runs all of them. "
      "[compatibility.md](compatibility.md) says\nwhat changes for users.\n\n"
      "## The checklist of a drop-in replacement\n\n%s\n"
      "## What dcgm-exporter's own tests assert\n\n%s\n"
      "## The counters file\n\n%s\n"
      "## The per-pod page of pod-gpu-metrics-exporter\n\n%s\n"
      "## The page of my-gpu-exporter: processes and their energy\n\n%s\n"
      "## The page of gpu-manager: what is asked for and what is used\n\n%s\n"
      "## Defects of dcgm-exporter that its users meet\n\n"
      "The numbers are those of our list of its defects; those left out cannot be seen from "
      "outside, or are of parts\nthat podgpu does not have.\n\n%s",
      Table("line", "what is asserted", ChecklistLines()),
      Table("subject", "what is asserted", UpstreamLines()),
      Table("rule", "what is asserted", CountersFileLines()),
      Table("statement", "what is asserted", LegacyLines()),
      Table("statement", "what is asserted", ProcessLines()),
      Table("statement", "what is asserted", VcudaLines()),
      Table("number", "dcgm-exporter", DefectLines()));
}

TEST(ConformanceDocument, EqualsTheLines) {
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kDocument, std::ios::binary) << ConformanceDocument();
  }
  std::ifstream file(kDocument, std::ios::binary);
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(committed, ConformanceDocument()) << "run this test with PODGPU_UPDATE_GOLDEN=1";
}

// "Suite, Name" of every test in the sources.
std::set<std::string> TestsInSources() {
  std::set<std::string> tests;
  for (const char* folder : {"src", "tests", "sim"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      std::ifstream file(entry.path());
      for (std::string line; entry.path().extension() == ".cc" && std::getline(file, line);) {
        if (line.starts_with("TEST") && line.find(") {") != std::string::npos) {
          const size_t begin = line.find('(') + 1;
          tests.insert(line.substr(begin, line.find(')') - begin));
        }
      }
    }
  }
  return tests;
}

// Every line of the document.
std::vector<ConformanceLine> AllLines() {
  std::vector<ConformanceLine> all;
  for (const auto lines : {ChecklistLines(), UpstreamLines(), CountersFileLines(), LegacyLines(),
                           ProcessLines(), VcudaLines(), DefectLines()}) {
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

TEST(ConformanceDocument, NamesOnlyTestsThatExist) {
  const std::set<std::string> tests = TestsInSources();
  for (const ConformanceLine& line : AllLines()) {
    EXPECT_TRUE(!line.test.empty() || !line.difference.empty()) << line.line;
    std::string name(line.test);
    if (!name.empty()) {
      name.replace(name.find('.'), 1, ", ");
      EXPECT_TRUE(tests.contains(name)) << name;
    }
  }
}

TEST(ConformanceDocument, NamesEveryTestOfThisProgram) {
  std::set<std::string> named;
  for (const ConformanceLine& line : AllLines()) {
    named.emplace(line.test);
  }
  const auto* const program = testing::UnitTest::GetInstance();
  for (int i = 0; i < program->total_test_suite_count(); ++i) {
    const testing::TestSuite* const suite = program->GetTestSuite(i);
    for (int j = 0; j < suite->total_test_count(); ++j) {
      const std::string test = std::string(suite->name()) + "." + suite->GetTestInfo(j)->name();
      EXPECT_TRUE(test.starts_with("Conformance") || named.contains(test)) << test;
    }
  }
}

}  // namespace
}  // namespace podgpu
