#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

// Endings of the files that comments and documents name by path.
constexpr std::array<std::string_view, 7> kEndings = {".h",    ".cc",    ".inc", ".md",
                                                      ".yaml", ".cmake", ".csv"};

bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// The words of a line that name a file.  Patterns ("fault-*.yaml") and variables are left out.
std::vector<std::string> NamesIn(std::string_view line) {
  constexpr std::string_view kPatterns = "*{}<>$%";
  std::vector<std::string> names;
  size_t end = 0;
  for (size_t at = 0; at < line.size(); at = end + 1) {
    end = at;
    while (end < line.size() && (IsNameByte(line[end]) || line[end] == '.' || line[end] == '/')) {
      ++end;
    }
    const bool pattern = (at > 0 && kPatterns.find(line[at - 1]) != std::string_view::npos) ||
                         (end < line.size() && kPatterns.find(line[end]) != std::string_view::npos);
    std::string_view word = line.substr(at, end - at);
    word.remove_suffix(word.ends_with('.') ? 1 : 0);
    if (!pattern && std::ranges::any_of(kEndings, [word](std::string_view ending) {
          return word.ends_with(ending);
        })) {
      names.emplace_back(word);
    }
  }
  return names;
}

// Whether `name` looks like a source of ours: "tick.h", "tick_test.cc", not "dcgm_structs.h" and
// other headers of the vendor.
bool IsSourceName(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view stem = name.substr(0, dot);
  return (name.substr(dot) == ".h" || name.substr(dot) == ".cc") && !stem.empty() &&
         stem.front() != '_' && !stem.starts_with("dcgm_") && stem != "nvml" &&
         std::ranges::all_of(stem, [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

class ReferenceCheck {
 public:
  explicit ReferenceCheck(const Tree& tree) : tree_(tree) {
    for (const File& file : tree.files) {
      names_.insert(file.path().substr(file.path().rfind('/') + 1));  // npos + 1 is 0.
      folders_.insert(FolderAt(file.path(), 0));
      if (file.path().starts_with("src/") || file.path().starts_with("sim/")) {
        folders_.insert(FolderAt(file.path(), 1));
      }
    }
    folders_.erase("");
  }

  // Whether `name`, found in `from`, names a file that is there, or none of ours.
  bool Leads(const File& from, const std::string& name) const {
    if (name.find('/') == std::string::npos) {
      return !from.is_cpp() || !IsSourceName(name) || names_.contains(name);
    }
    const std::string own = from.path().substr(0, from.path().rfind('/') + 1);
    return !folders_.contains(FolderAt(name, 0)) || tree_.paths.contains(name) ||
           tree_.paths.contains("src/" + name) || tree_.paths.contains("sim/" + name) ||
           tree_.paths.contains(own + name);
  }

 private:
  const Tree& tree_;               // Borrowed for the length of one check.
  std::set<std::string> names_;    // Of all files, without their folders.
  std::set<std::string> folders_;  // What the path of a file of ours begins with.
};

}  // namespace

void CheckReferences(const Tree& tree, Complaints& complaints) {
  const ReferenceCheck check(tree);
  for (const File& file : tree.files) {
    if (file.path().starts_with("tools/tidy/")) {
      continue;  // Its tests name files that are not there.
    }
    int number = 0;
    for (std::string_view line : file.Lines()) {
      ++number;
      if (line.starts_with("#include ")) {
        continue;
      }
      for (const std::string& name : NamesIn(line)) {
        if (!check.Leads(file, name)) {
          complaints.push_back({file.path(), number, kReference, "\"" + name + "\" is not there"});
        }
      }
    }
  }
}

}  // namespace podgpu::tidy
