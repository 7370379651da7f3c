#include <algorithm>
#include <array>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

struct Row {
  Rule rule;
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array kRows = {
    Row{Rule::kArrow, "arrow",
        "A folder includes only the rooms that its podgpu_room() line in src/CMakeLists.txt names, "
        "and arrows point down only, also between the FOLDERS of a room."},
    Row{Rule::kSimArrow, "sim-arrow",
        "The simulator never includes src above floor 1.  Its folders include only those that "
        "their podgpu_sim_folder() line names, and the PLAIN ones use neither abseil nor base."},
    Row{Rule::kLineLength, "line-length", "A line has at most 100 columns."},
    Row{Rule::kFunctionLength, "function-length",
        "A function has at most 70 lines; a longer one usually lacks a type."},
    Row{Rule::kLongFunctions, "long-functions",
        "At most 5 % of all functions are longer than 40 lines."},
    Row{Rule::kHeaderLength, "header-length", "A header has at most 200 lines."},
    Row{Rule::kFileLength, "file-length",
        "A file has at most 500 lines; only a table of data, marked \"// tidy: table\", is "
        "longer."},
    Row{Rule::kForbiddenCall, "forbidden-call",
        "Only one file or room may use the clock, the environment, number parsers and output "
        "calls."},
    Row{Rule::kWeightyHeader, "weighty-header",
        "Large third-party headers are included by .cc files only."},
    Row{Rule::kHeaderProse, "header-prose",
        "A header begins with at least 20 words of prose: its purpose, its limits, its owner and "
        "its thread."},
    Row{Rule::kDeadFile, "dead-file", "Every file belongs to a target or is included by one."},
    Row{Rule::kBrokenLink, "broken-link",
        "A link in a document leads to a file and a heading that exist."},
    Row{Rule::kDeadReference, "dead-reference",
        "A comment or document names only files and documents that a reader of this repository "
        "has; say the fact, or cite the public source."},
    Row{Rule::kLostTest, "lost-test",
        "A test that docs/arm64.md leaves out exists; remove the row of a test that is gone."},
    Row{Rule::kPlainEnglish, "plain-english",
        "Every sentence is understood at first reading (CONTRIBUTING.md, \"Plain English\")."},
    Row{Rule::kOpenEnd, "open-end", "A note on unfinished work has the number of its issue."},
};

const Row& RowOf(Rule rule) {
  return *std::find_if(kRows.begin(), kRows.end(),
                       [rule](const Row& row) { return row.rule == rule; });
}

}  // namespace

std::string_view NameOf(Rule rule) { return RowOf(rule).name; }

std::string_view SentenceOf(Rule rule) { return RowOf(rule).sentence; }

std::string Format(const Complaint& complaint) {
  return complaint.file + ":" + std::to_string(complaint.line) + ": " +
         std::string(NameOf(complaint.rule)) + ": " + complaint.what + ". " +
         std::string(SentenceOf(complaint.rule));
}

}  // namespace podgpu::tidy
