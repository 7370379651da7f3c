// Labels as text: the content of the braces of a line, and the key that lines are sorted by.
//
// Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

namespace podgpu {

// A label and its value, unescaped.
struct Label {
  std::string name;
  std::string value;
};

// Returns `a="b",c="d"`, the content of the braces.  Safe for any bytes (escape.h); if two labels
// have the same name, the first counts.
std::string RenderLabels(const std::vector<Label>& labels);

// Returns the key by which dcgm-exporter sorts lines since 4.8.3: `len:name=len:value;` for each
// label, in the order of the names.
std::string SortKeyOf(const std::vector<Label>& labels);

}  // namespace podgpu
