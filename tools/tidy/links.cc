#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

// A heading's anchor: lower case, blanks as "-", punctuation dropped.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-') {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

// The lines of a document outside fenced blocks, with their numbers.
std::vector<std::pair<int, std::string_view>> ProseOf(const File& file) {
  std::vector<std::pair<int, std::string_view>> prose;
  bool fenced = false;
  int number = 0;
  for (std::string_view line : file.Lines()) {
    ++number;
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (!fenced) {
      prose.emplace_back(number, line);
    }
  }
  return prose;
}

std::set<std::string> AnchorsOf(const File& file) {
  std::set<std::string> anchors;
  for (const auto& [number, line] : ProseOf(file)) {
    const size_t text = line.find_first_not_of('#');
    if (text != 0 && text != std::string_view::npos && line[text] == ' ') {
      anchors.insert(AnchorOf(line.substr(text + 1)));
    }
  }
  return anchors;
}

class LinkCheck {
 public:
  LinkCheck(const Tree& tree, const std::function<bool(const std::string&)>& exists)
      : tree_(tree), exists_(exists) {}

  bool Leads(const File& from, const std::string& link) const {
    if (link.starts_with("http:") || link.starts_with("https:")) {
      return true;  // Outside; nothing is looked up over the network.
    }
    const size_t hash = link.find('#');
    const std::string target = link.substr(0, hash);
    std::string path = from.path();
    if (!target.empty()) {
      const std::filesystem::path folder = std::filesystem::path(from.path()).parent_path();
      path = (folder / target).lexically_normal().generic_string();
    }
    if (!exists_(path)) {
      return false;
    }
    const File* file = tree_.Find(path);
    return hash == std::string::npos || file == nullptr ||
           AnchorsOf(*file).contains(link.substr(hash + 1));
  }

 private:
  const Tree& tree_;  // Both borrowed for the length of one check.
  const std::function<bool(const std::string&)>& exists_;
};

}  // namespace

void CheckLinks(const Tree& tree, const std::function<bool(const std::string&)>& exists,
                Complaints& complaints) {
  const LinkCheck check(tree, exists);
  for (const File& file : tree.files) {
    if (!file.path().ends_with(".md")) {
      continue;
    }
    for (const auto& [number, line] : ProseOf(file)) {
      for (size_t at = line.find("]("); at != std::string_view::npos;
           at = line.find("](", at + 1)) {
        const size_t end = line.find(')', at);
        const std::string link(line.substr(at + 2, end - at - 2));
        if (end != std::string_view::npos && !check.Leads(file, link)) {
          complaints.push_back(
              {file.path(), number, Rule::kBrokenLink, "\"" + link + "\" leads nowhere"});
        }
      }
    }
  }
}

}  // namespace podgpu::tidy
