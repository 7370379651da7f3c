// Parses YAML text to a tree of maps, lists and scalars with line and column.
//
// The only code that calls the YAML library. It refuses anchors, aliases, tags, several documents
// and deep nesting, so no input can grow beyond its own size. Scalars stay text; the caller
// interprets them. The tree owns its text. The program reads its web configuration with it and the
// simulator reads its scenarios; it uses no other room. Pure function; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podgpu {

inline constexpr size_t kYamlLimitBytes = size_t{1} << 20;
inline constexpr int kYamlDepthLimit = 16;

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 1, column = 1;     // Counted from 1, as in editors.
  std::string text;             // Text of a scalar.
  std::vector<YamlNode> items;  // Items of a list; values of a map, in the order of the text.
  std::vector<YamlNode> keys;   // Keys of a map, one per item.
};

// An error and its position in the text.
struct YamlError {
  int line = 1, column = 1;
  std::string what;  // May contain any bytes of the text.
};

// Reads one document. With errors, returns the tree up to the first error.
YamlNode ReadYaml(std::string_view text, std::vector<YamlError>& errors);

}  // namespace podgpu
