#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "tools/tidy/checks.h"
#include "tools/tidy/prose.h"

namespace podgpu::tidy {
namespace {

// The checks themselves and their tests name files that are not there.
constexpr std::string_view kOwnFolder = "tools/tidy/";

// Endings of the files that comments and documents name by path.
constexpr std::array<std::string_view, 7> kEndings = {".h",    ".cc",    ".inc", ".md",
                                                      ".yaml", ".cmake", ".csv"};

// Documents that readers of this repository do not have.  "#" stands for a number.
constexpr std::array<std::string_view, 8> kPrivateDocuments = {
    "behaviour document", "behavior document", "seed system",  "seed systems",
    "simulator facts",    "simulator's facts", "experience #", "design.md"};

bool IsPathByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/';
}

bool IsNameByte(char c) {
  return std::islower(static_cast<unsigned char>(c)) != 0 ||
         std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether `name` looks like a file of ours: "tick.h", "tick_test.cc", not "dcgm_structs.h" and
// other headers of the vendor.
bool IsSourceName(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || name.starts_with("dcgm_") || name == "nvml.h") {
    return false;
  }
  const std::string_view ending = name.substr(dot);
  return (ending == ".h" || ending == ".cc") && name.front() != '_' &&
         std::ranges::all_of(name.substr(0, dot), IsNameByte);
}

// A path as it is written, and where.
struct Mention {
  std::string path;
  size_t at = 0;
};

// The words of `prose` that name a file.  Patterns ("fault-*.yaml") and variables are left out.
std::vector<Mention> MentionsIn(std::string_view prose) {
  constexpr std::string_view kPatterns = "*{}<>$%";
  std::vector<Mention> mentions;
  size_t end = 0;
  for (size_t at = 0; at < prose.size(); at = end + 1) {
    end = at;
    while (end < prose.size() && IsPathByte(prose[end])) {
      ++end;
    }
    const bool pattern =
        (at > 0 && kPatterns.find(prose[at - 1]) != std::string_view::npos) ||
        (end < prose.size() && kPatterns.find(prose[end]) != std::string_view::npos);
    std::string_view word = prose.substr(at, end - at);
    while (word.ends_with('.')) {
      word.remove_suffix(1);
    }
    const bool named = std::ranges::any_of(
        kEndings, [word](std::string_view ending) { return word.ends_with(ending); });
    if (named && !pattern) {
      mentions.push_back({std::string(word), at});
    }
  }
  return mentions;
}

class ReferenceCheck {
 public:
  ReferenceCheck(const Tree& tree, const std::function<bool(const std::string&)>& exists)
      : exists_(exists) {
    for (const File& file : tree.files) {
      names_.emplace(file.name());
      const std::string& path = file.path();
      const size_t first = path.find('/');
      if (first == std::string::npos) {
        continue;
      }
      folders_.insert(path.substr(0, first));
      const size_t second = path.find('/', first + 1);
      if (second != std::string::npos && (path.starts_with("src/") || path.starts_with("sim/"))) {
        folders_.insert(path.substr(first + 1, second - first - 1));
      }
    }
  }

  // Whether `path`, found in `from`, names a file that is there, or none of ours.
  bool Leads(const File& from, const std::string& path) const {
    const size_t slash = path.find('/');
    if (slash == std::string::npos) {
      return !from.is_cpp() || !IsSourceName(path) || names_.contains(path);
    }
    if (!folders_.contains(path.substr(0, slash))) {
      return true;
    }
    const std::string folder = from.path().substr(0, from.path().rfind('/') + 1);
    return exists_(path) || exists_("src/" + path) || exists_("sim/" + path) ||
           exists_(folder + path);
  }

 private:
  std::set<std::string> names_;    // Of all files, without their folders.
  std::set<std::string> folders_;  // What the path of a file of ours begins with.
  const std::function<bool(const std::string&)>& exists_;  // Borrowed for the length of one check.
};

}  // namespace

void CheckReferences(const Tree& tree, const std::function<bool(const std::string&)>& exists,
                     Complaints& complaints) {
  const ReferenceCheck check(tree, exists);
  for (const File& file : tree.files) {
    if (file.path().starts_with(kOwnFolder)) {
      continue;
    }
    const std::string prose = ProseText(file);
    const auto complain = [&](size_t at, const std::string& what) {
      const int line = file.LineAt(at);
      if (!file.Allows(line, NameOf(Rule::kDeadReference))) {
        complaints.push_back({file.path(), line, Rule::kDeadReference, what});
      }
    };
    for (const Mention& mention : MentionsIn(prose)) {
      if (!check.Leads(file, mention.path)) {
        complain(mention.at, "\"" + mention.path + "\" is not there");
      }
    }
    for (const Phrase& phrase : PhrasesIn(prose, kPrivateDocuments)) {
      complain(phrase.at,
               "the document \"" + std::string(phrase.text) + "\" is not in this repository");
    }
  }
}

}  // namespace podgpu::tidy
