// The text files of the repository, for the checks.
//
// A C++ file also has a copy of its text with blanks in place of comments, literals and
// preprocessor lines, so every brace and name in the copy is code.  Tests build a Tree in memory,
// main reads it from disk.  Immutable; files own their text, and views into them live as long as
// the Tree.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::tidy {

// Whether the byte may be a part of a name in C++.
bool IsNameByte(char c);

class File {
 public:
  // `path` is relative to the root of the tree, with "/" between its parts.
  File(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  // `text` with blanks in place of comments, literals' contents and preprocessor lines; same
  // length, same line ends.  Equal to the text where the file is not C++.
  const std::string& code() const { return code_; }

  std::string_view name() const;  // "b_test.cc"
  bool is_header() const;
  bool is_cpp() const;
  bool is_test() const;  // Tests, fuzz targets, benchmarks, fakes, and files under tests/.

  // The number, from 1, of the line that holds the byte at `offset`.
  int LineAt(size_t offset) const;
  std::vector<std::string_view> Lines() const;
  // Whether the line, or the one above it, says "tidy: allow NAME: reason".
  bool Allows(int line, std::string_view rule_name) const;

 private:
  std::string path_;
  std::string text_;
  std::string code_;
};

// One #include "..." or <...>.
struct Include {
  std::string target;
  bool quoted = false;
  int line = 0;
};
std::vector<Include> IncludesOf(const File& file);

struct Tree {
  std::vector<File> files;  // Sorted by path.

  const File* Find(std::string_view path) const;
};

// Reads all that is checked under `root`: C++, CMake, Markdown and shell files outside build/,
// corpora and dot folders other than .ci/.
Tree ReadTree(const std::filesystem::path& root);

}  // namespace podgpu::tidy
