// Typed reading of a YAML tree: keys, units, ranges, and errors for values that are not allowed.
//
// A Cursor points at one value and knows its key path, so a complaint names the path, what was
// found and what is allowed.  Reading does not stop at an error: the cursor records it and returns
// a default, so one run reports all errors.  Cursors borrow the tree and the error list.  One
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/yaml_tree.h"

namespace podgpu::sim {

// Errors of one file, each as "file:line:column: path: what".
class ScenarioErrors {
 public:
  explicit ScenarioErrors(std::string_view file) : file_(file) {}
  void Add(int line, int column, const std::string& path, const std::string& what);
  bool empty() const { return lines_.empty(); }
  // In the order of their places in the file.
  std::vector<std::string> Sorted() const;

 private:
  struct Line {
    int line, column;
    std::string text;
  };
  std::string file_;
  std::vector<Line> lines_;
};

// A unit and its size in base units.
struct Unit {
  std::string_view name;
  int64_t size;
};

// The place of a value, for later complaints, when the whole scenario is known.
struct Place {
  int line = 1, column = 1;
  std::string path;
};

class Cursor {
 public:
  Cursor(const YamlNode* node, std::string path, ScenarioErrors& errors)
      : node_(node), path_(std::move(path)), errors_(&errors) {}

  bool present() const { return node_ != nullptr && node_->kind != YamlNode::Kind::kNull; }
  bool IsMap() const { return node_ != nullptr && node_->kind == YamlNode::Kind::kMap; }
  bool IsList() const { return node_ != nullptr && node_->kind == YamlNode::Kind::kList; }
  bool IsScalar() const { return node_ != nullptr && node_->kind == YamlNode::Kind::kScalar; }
  Place place() const;
  const std::string& path() const { return path_; }
  void Fail(const std::string& what) const;

  // Checks that this is a map with only `known` keys, each at most once.  False, with an error,
  // when it is not a map; an absent value is an empty map.
  bool ExpectKeys(std::span<const std::string_view> known) const;
  // The value under `key`; absent if there is none.
  Cursor Key(std::string_view key) const;
  // The same, with an error when it is absent.
  Cursor Need(std::string_view key) const;
  // The elements of a list; empty when absent; empty with an error for any other value.
  std::vector<Cursor> Elements() const;
  // The keys of a map with their values; empty when absent; empty with an error for any other
  // value.
  std::vector<std::pair<std::string, Cursor>> Entries() const;

  // Scalars.  Absent: returns `otherwise`; invalid: returns `otherwise` and records an error.
  std::string Text(std::string_view otherwise) const;
  int64_t Integer(int64_t otherwise, int64_t least, int64_t most) const;
  bool Flag(bool otherwise) const;
  // A number with at most six decimals, in millionths.
  int64_t Millionths(int64_t otherwise, int64_t least, int64_t most) const;
  int64_t DurationUs(int64_t otherwise) const;
  int64_t Percent(int64_t otherwise) const;  // In ppm.
  int64_t Bytes(int64_t otherwise) const;
  int64_t BytesPerSecond(int64_t otherwise) const;
  // The index of the text among `allowed`.
  size_t Choice(std::span<const std::string_view> allowed, size_t otherwise) const;
  // A Kubernetes name: lower-case letters, digits, '-' and '.', at most `most` long.
  std::string Name(std::string_view otherwise, size_t most = 63) const;

 private:
  bool TakeScalar(std::string_view allowed) const;
  int64_t Quantity(int64_t otherwise, std::span<const Unit> units, std::string_view allowed) const;

  const YamlNode* node_;  // Null: absent.
  std::string path_;
  ScenarioErrors* errors_;
  Place parent_;  // The place to report for an absent value.
};

// `text` on one line and as valid UTF-8, for messages; control characters become question marks.
std::string Printable(std::string_view text);

// "a, b, c".
std::string Join(std::span<const std::string_view> words);

}  // namespace podgpu::sim
