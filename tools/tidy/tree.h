// The text files of the repository, for the checks, and the names of all other files.
//
// Tests build a Tree in memory, main reads it from disk. Files own their text, and views into them
// live as long as the Tree.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu::tidy {

class File {
 public:
  // `path` is relative to the root of the tree, with "/" between its parts.
  File(std::string path, std::string text);

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

  bool is_header() const;
  bool is_cpp() const;
  bool is_test() const;  // Tests, fuzz targets, benchmarks, fakes, and files under tests/.

  std::vector<std::string_view> Lines() const;

 private:
  std::string path_;
  std::string text_;
};

struct Tree {
  std::vector<File> files;      // C++, CMake, Markdown and scripts, sorted by path.
  std::set<std::string> paths;  // All files and folders.

  void Add(std::string path, std::string text);
  const File* Find(std::string_view path) const;
};

// Reads the tree under `root`, except build/ and dot folders; .ci/ is read.
Tree ReadTree(const std::filesystem::path& root);

// The folder of `path` at a depth: of "src/source/nvml/x.cc" it is "src" at 0, "source" at 1 and
// "nvml" at 2.  Empty when the path has no such folder.
std::string FolderAt(std::string_view path, int depth);

}  // namespace podgpu::tidy
