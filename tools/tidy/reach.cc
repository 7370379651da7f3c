#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

std::string FolderOf(std::string_view path) {
  const size_t end = path.rfind('/');
  return end == std::string_view::npos ? "" : std::string(path.substr(0, end));
}

// "lib_${name}.cc" as the pattern "lib_*.cc"; a variable in front of a path says nothing.
std::string WithoutVariables(std::string word) {
  const size_t end = word.rfind('}');
  const size_t begin = word.rfind("${", end);
  if (end == std::string::npos || begin == std::string::npos || begin == 0) {
    return word;
  }
  return word.replace(begin, end - begin + 1, "*");
}

// The words of a CMake file, parentheses and quotes aside.
std::set<std::string> WordsOf(const File& file) {
  std::set<std::string> words;
  for (std::string_view line : file.Lines()) {
    std::string text(line.substr(0, line.find('#')));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
      words.insert(WithoutVariables(word));
    }
  }
  return words;
}

// "*" stands for any run of characters in the last part of a path.
bool Matches(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return name == pattern;
  }
  const std::string_view front = pattern.substr(0, star);
  const std::string_view back = pattern.substr(star + 1);
  return name.size() >= front.size() + back.size() && name.starts_with(front) &&
         name.ends_with(back);
}

// Whether a CMake file above `file`, or a CMake function, names it by its path or by a pattern.
class Targets {
 public:
  explicit Targets(const Tree& tree) {
    for (const File& file : tree.files) {
      if (file.name() == "CMakeLists.txt") {
        words_[FolderOf(file.path())] = WordsOf(file);
      } else if (file.path().ends_with(".cmake")) {
        functions_.merge(WordsOf(file));
      }
    }
  }

  bool Name(const File& file) const {
    const std::string ending = "/" + file.path();
    if (std::any_of(functions_.begin(), functions_.end(),
                    [&ending](const std::string& word) { return word.ends_with(ending); })) {
      return true;
    }
    std::string folder = FolderOf(file.path());
    while (!folder.empty()) {
      const auto found = words_.find(folder);
      if (found != words_.end() && Names(found->second, folder, file)) {
        return true;
      }
      folder = FolderOf(folder);
    }
    return false;
  }

 private:
  static bool Names(const std::set<std::string>& words, const std::string& folder,
                    const File& file) {
    const std::string below = file.path().substr(folder.size() + 1);
    const std::string room = below.substr(0, std::min(below.find('/'), below.size()));
    const bool takes_folders = words.contains("podgpu_room") || words.contains("podgpu_sim_folder");
    if (room != below && takes_folders && words.contains(room)) {
      return true;  // All files of the folder, of its sub-folders and of its testing/.
    }
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      const std::string_view last = std::string_view(word).substr(word.rfind('/') + 1);
      const bool listed = word == below || word.ends_with("/" + std::string(file.name()));
      const bool pattern = word.find('*') != std::string::npos && Matches(file.name(), last);
      return listed || pattern;
    });
  }

  std::map<std::string, std::set<std::string>> words_;  // By folder.
  std::set<std::string> functions_;                     // Of the .cmake files.
};

// The paths that some file includes, as they are written.
std::set<std::string> Included(const Tree& tree) {
  std::set<std::string> targets;
  for (const File& file : tree.files) {
    if (file.is_cpp()) {
      for (const Include& include : IncludesOf(file)) {
        targets.insert(include.target);
      }
    }
  }
  return targets;
}

bool IsIncluded(const File& file, const std::set<std::string>& included) {
  constexpr std::string_view kSource = "src/";
  const std::string below =
      file.path().starts_with(kSource) ? file.path().substr(kSource.size()) : file.path();
  return included.contains(below) || included.contains(file.path());
}

}  // namespace

void CheckReach(const Tree& tree, Complaints& complaints) {
  const Targets targets(tree);
  const std::set<std::string> included = Included(tree);
  for (const File& file : tree.files) {
    if (!file.is_cpp()) {
      continue;
    }
    const bool source = file.path().ends_with(".cc");
    if (source ? !targets.Name(file) && !IsIncluded(file, included) : !IsIncluded(file, included)) {
      complaints.push_back({file.path(), 1, Rule::kDeadFile,
                            source ? "no CMakeLists.txt names it" : "nothing includes it"});
    }
  }
}

}  // namespace podgpu::tidy
