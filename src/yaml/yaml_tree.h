// YAML text as a tree of maps, lists and scalars that remember where they stand.
//
// The one place that meets the YAML library: anchors, aliases, tags, several documents and deep
// nesting are refused here, so that no input can grow beyond its own size.  Scalars stay text; what
// they mean is the reader's business.  The tree owns its text.  The program reads its web
// configuration with it and the simulator its scenarios, so it knows nothing of either and uses
// no other room.  Pure function; any thread.
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
  int line = 1, column = 1;     // As editors count.
  std::string text;             // A scalar's.
  std::vector<YamlNode> items;  // A list's items; of a map, its values in order of writing.
  std::vector<YamlNode> keys;   // A map's keys, one per item.
};

// Something that is wrong at a place in the text.
struct YamlError {
  int line = 1, column = 1;
  std::string what;  // May hold any bytes of the text.
};

// Reads one document.  With errors, the tree is what was read up to the first of them.
YamlNode ReadYaml(std::string_view text, std::vector<YamlError>& errors);

}  // namespace podgpu
