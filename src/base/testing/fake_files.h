// Files that a test keeps in memory: a text or an error for each path.  Notes which are read.
//
// The test changes them while no other thread reads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"

namespace podgpu {

class FakeFiles : public Files {
 public:
  using Tree = std::map<std::string, StatusOr<std::string>, std::less<>>;

  FakeFiles() = default;
  explicit FakeFiles(Tree tree) : files(std::move(tree)) {}

  StatusOr<std::string> Read(std::string_view path) const override {
    reads.emplace_back(path);
    const auto found = files.find(path);
    return found != files.end() ? found->second : Missing(path);
  }
  // The files below `path`, which has no folders.
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    std::vector<std::string> names;
    for (const auto& [name, content] : files) {
      if (name.starts_with(path)) {
        names.push_back(name.substr(path.size() + 1));
      }
    }
    return names;
  }
  StatusOr<std::string> ReadLink(std::string_view path) const override {
    const auto found = links.find(path);
    return found != links.end() ? found->second : Missing(path);
  }

  Tree files;
  Tree links;  // The target of each.
  mutable std::vector<std::string> reads;

 private:
  static StatusOr<std::string> Missing(std::string_view path) {
    return absl::NotFoundError(std::string(path) + ": there is no such file");
  }
};

}  // namespace podgpu
