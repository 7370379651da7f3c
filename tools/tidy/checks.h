// The checks, one per concern; each reads the whole tree and appends its complaints.
//
// No check reads the disk: the Tree has every text file, and `exists` answers for other files, such
// as pictures.  Pure functions; complaints are in the order of the files.
#pragma once

#include <functional>
#include <string>

#include "tools/tidy/complaint.h"
#include "tools/tidy/tree.h"

namespace podgpu::tidy {

// Includes between rooms and between sub-folders of a room, against the podgpu_room() lines of
// src/CMakeLists.txt; includes of the simulator's folders, against sim/CMakeLists.txt.
void CheckArrows(const Tree& tree, Complaints& complaints);

// Columns of lines; lines of functions, headers and files.
void CheckBudgets(const Tree& tree, Complaints& complaints);

// Names that only one place may use, or none.
void CheckCalls(const Tree& tree, Complaints& complaints);

// Includes of headers, and the prose at their beginning.
void CheckHeaders(const Tree& tree, Complaints& complaints);

// Files that no target builds and no file includes.
void CheckReach(const Tree& tree, Complaints& complaints);

// Tests that docs/arm64.md leaves out under QEMU, and that no file has.
void CheckLeftOut(const Tree& tree, Complaints& complaints);

// Links in Markdown; `exists` answers for a path relative to the root.
void CheckLinks(const Tree& tree, const std::function<bool(const std::string&)>& exists,
                Complaints& complaints);

// Files that comments, literals and documents name by path, and that are not there; documents that
// are not in this repository.
void CheckReferences(const Tree& tree, const std::function<bool(const std::string&)>& exists,
                     Complaints& complaints);

// Words in comments, literals, test names, documents and scripts that readers stumble over.
void CheckWords(const Tree& tree, Complaints& complaints);

// A function as the budgets see it.
struct Function {
  int first_line = 0;  // Of its opening brace.
  int lines = 0;       // From the opening brace to the closing one, as clang-tidy counts.
};
// Every function of the file at namespace or class level; lambdas count as part of theirs.
std::vector<Function> FunctionsOf(const File& file);

}  // namespace podgpu::tidy
