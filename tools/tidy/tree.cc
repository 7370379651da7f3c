#include "tools/tidy/tree.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace podgpu::tidy {
namespace {

bool EndsWithAny(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings,
                             [text](std::string_view ending) { return text.ends_with(ending); });
}

// Scripts, such as `dev`, have no ending and begin with "#!".
bool MayBeScript(std::string_view name) { return name.find('.') == std::string_view::npos; }

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

File::File(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {}

bool File::is_header() const { return path_.ends_with(".h"); }

bool File::is_cpp() const { return EndsWithAny(path_, {".cc", ".h", ".inc"}); }

bool File::is_test() const {
  return path_.starts_with("tests/") || EndsWithAny(path_, {"_test.cc", "_fuzz.cc", "_bench.cc"}) ||
         path_.find("/testing/") != std::string::npos;
}

std::vector<std::string_view> File::Lines() const {
  std::vector<std::string_view> lines;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

void Tree::Add(std::string path, std::string text) {
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    paths.insert(path.substr(0, end));
  }
  paths.insert(path);
  files.emplace_back(std::move(path), std::move(text));
}

const File* Tree::Find(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &File::path);
  return found == files.end() ? nullptr : &*found;
}

Tree ReadTree(const std::filesystem::path& root) {
  Tree tree;
  auto entries = std::filesystem::recursive_directory_iterator(root);
  for (auto entry = begin(entries); entry != end(entries); ++entry) {
    const std::string name = entry->path().filename().string();
    const std::string path = entry->path().lexically_relative(root).generic_string();
    if (entry->is_directory() && ((name.starts_with('.') && name != ".ci") || name == "build")) {
      entry.disable_recursion_pending();
      continue;
    }
    tree.paths.insert(path);
    const bool wanted = MayBeScript(name) ||
                        EndsWithAny(name, {".cc", ".h", ".inc", ".md", ".cmake", "CMakeLists.txt"});
    if (!wanted || !entry->is_regular_file() || path.find("/corpus/") != std::string::npos) {
      continue;
    }
    std::string text = ReadAll(entry->path());
    if (!MayBeScript(name) || text.starts_with("#!")) {
      tree.files.emplace_back(path, std::move(text));
    }
  }
  std::ranges::sort(tree.files, {}, &File::path);
  return tree;
}

std::string FolderAt(std::string_view path, int depth) {
  for (; depth > 0 && !path.empty(); --depth) {
    path.remove_prefix(std::min(path.find('/'), path.size() - 1) + 1);
  }
  const size_t end = path.find('/');
  return end == std::string_view::npos ? "" : std::string(path.substr(0, end));
}

}  // namespace podgpu::tidy
