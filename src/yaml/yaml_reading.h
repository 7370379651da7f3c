// Reads the keys of a YAML configuration strictly: each key has a row in a table, and each mistake
// is one line with file, line, key and remedy.
//
// A reading remembers its first mistake and continues, so no reader of a key needs an early return;
// the caller looks at status() at the end.  Keys are case sensitive and may not be repeated.  The
// web configuration and dcgm-exporter's YAML configuration are read with it.  Entries borrow the
// reading and the tree; any one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "yaml/yaml_tree.h"

namespace podgpu {

class YamlReading {
 public:
  // `leaves_out_null`: a key or an item without a value is as if it were not there; else it has the
  // empty text, which few keys accept.
  explicit YamlReading(std::string path, bool leaves_out_null = false)
      : path_(std::move(path)), leaves_out_null_(leaves_out_null) {}

  // Parses `text`; what is no YAML is a mistake.
  YamlNode Parse(std::string_view text);

  // `key` is "section.key"; empty for the whole file.
  void Refuse(int line, std::string_view key, std::string_view what);
  const Status& status() const { return status_; }

  bool LeavesOut(const YamlNode& value) const {
    return leaves_out_null_ && value.kind == YamlNode::Kind::kNull;
  }

  // Returns `file` relative to the folder of the configuration.
  std::string Resolve(const std::string& file) const;

 private:
  const std::string path_;
  const bool leaves_out_null_;
  Status status_;
};

// A value and its key, "section.key".
struct YamlEntry {
  YamlReading& reading;
  const YamlNode& value;
  std::string key;

  void Refuse(std::string_view what) const { reading.Refuse(value.line, key, what); }

  // Return the value; after a mistake an empty or false one.
  std::string Text() const;
  bool Bool() const;
  // The items of a list, with the key of the list.
  std::vector<YamlEntry> List() const;
  // The entries of a map, each with its own name as `key`.
  std::vector<YamlEntry> Map() const;

  // Returns the row of `table` with this name; null, with an error, when there is none.
  template <typename Row>
  const Row* OneOf(std::span<const Row> table) const {
    const std::string text = Text();
    const Row* row = FindName(table, text);
    if (row == nullptr) {
      RefuseName(text, NamesOf(table));
    }
    return row;
  }
  template <typename Row>
  static std::vector<std::string_view> NamesOf(std::span<const Row> table) {
    std::vector<std::string_view> names;
    for (const Row& known : table) {
      names.push_back(known.name);
    }
    return names;
  }
  void RefuseName(std::string_view text, const std::vector<std::string_view>& names) const;
  void RefuseKey(const YamlEntry& entry, const std::vector<std::string_view>& names) const;
};

template <typename Target>
struct YamlKey {
  std::string_view name;
  void (*read)(const YamlEntry& entry, Target& target);
};

// Passes each entry of the map `section` to the row with its name.
template <typename Target>
void ReadYamlKeys(const YamlEntry& section, std::span<const YamlKey<Target>> table,
                  Target& target) {
  for (const YamlEntry& entry : section.Map()) {
    const YamlKey<Target>* row = FindName(table, entry.key);
    if (row == nullptr) {
      section.RefuseKey(entry, YamlEntry::NamesOf(table));
      continue;
    }
    if (entry.reading.LeavesOut(entry.value)) {
      continue;
    }
    const std::string path = section.key.empty() ? entry.key : section.key + "." + entry.key;
    row->read({entry.reading, entry.value, path}, target);
  }
}

}  // namespace podgpu
