// A complaint of the tree check: a place, the rule that it breaks, and what was found there. The
// checks, one per rule or two, read the whole tree and append their complaints.
//
// Plain data and pure functions. The list of complaints of a clean tree is empty; complaints are in
// the order of the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/tidy/tree.h"

namespace podgpu::tidy {

// The rules, as they are printed.
inline constexpr const char* kArrow =
    "arrow: a folder of src/ or sim/ includes only what its line in the CMakeLists.txt above it "
    "names, and arrows point down only, also between the FOLDERS of a room. The simulator includes "
    "no room above floor 1, and its PLAIN folders neither abseil nor base";
inline constexpr const char* kLength =
    "length: a line has at most 100 columns, a header 200 lines and a file 500; only a table of "
    "data, marked \"// tidy: table\", is longer";
inline constexpr const char* kHeaderProse =
    "header-prose: a header begins with at least 20 words of prose: its purpose, its limits, its "
    "owner and its thread";
inline constexpr const char* kLink =
    "link: a link in a document leads to a file and a heading that exist";
inline constexpr const char* kReference =
    "reference: a comment, literal or document names only files that are in the repository";

struct Complaint {
  std::string file;  // Relative to the root of the tree.
  int line = 0;      // From 1.
  const char* rule = nullptr;
  std::string what;  // What was found: "room base includes \"kube/pod_resources.h\"".
};

using Complaints = std::vector<Complaint>;

// Rule kArrow: the #include lines of src/ and sim/, and the order of the lists of their folders.
void CheckArrows(const Tree& tree, Complaints& complaints);

// Rules kLength and kHeaderProse.
void CheckFiles(const Tree& tree, Complaints& complaints);

// Rule kLink: links in Markdown; links to other hosts are not followed.
void CheckLinks(const Tree& tree, Complaints& complaints);

// Rule kReference.
void CheckReferences(const Tree& tree, Complaints& complaints);

}  // namespace podgpu::tidy
