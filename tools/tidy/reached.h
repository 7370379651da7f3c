// Which tests a change can reach, so that the sanitizers run on those and skip the rest.
//
// The answer follows the arrows between rooms: a file of src/ROOM reaches that room and every room
// that uses it, directly or through others, and the programs that all rooms are linked into.  Where
// the answer is in doubt it is "all".  Pure functions over the tree.
#pragma once

#include <string>
#include <vector>

#include "tools/tidy/tree.h"

namespace podgpu::tidy {

// Returns a regular expression over the names of ctest's entries.  It matches every entry when the
// change touches base/ or the build, and it is empty when no test can notice the change.  `changed`
// has paths relative to the root.
std::string ReachedTests(const Tree& tree, const std::vector<std::string>& changed);

}  // namespace podgpu::tidy
