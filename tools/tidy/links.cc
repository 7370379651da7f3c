#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

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

// The anchors of the headings: lower case, blanks as "-", punctuation dropped.
std::set<std::string> AnchorsOf(const File& file) {
  std::set<std::string> anchors;
  for (const auto& [number, line] : ProseOf(file)) {
    const size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string_view::npos || line[text] != ' ') {
      continue;
    }
    std::string anchor;
    for (const char c : line.substr(text + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || c == '_' || c == '-') {
        anchor += static_cast<char>(std::tolower(byte));
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

// The targets of "[text](target)" and of a line "[name]: target".
std::vector<std::string> LinksOf(std::string_view line) {
  std::vector<std::string> links;
  if (const size_t at = line.find("]: "); line.starts_with('[') && at != std::string_view::npos) {
    links.emplace_back(line.substr(at + 3));
  }
  for (size_t at = line.find("]("); at != std::string_view::npos; at = line.find("](", at + 1)) {
    links.emplace_back(line.substr(at + 2, line.find(')', at) - at - 2));
  }
  return links;
}

bool Leads(const Tree& tree, const File& from, const std::string& link) {
  if (link.starts_with("http:") || link.starts_with("https:")) {
    return true;
  }
  const size_t hash = link.find('#');
  const std::filesystem::path folder = std::filesystem::path(from.path()).parent_path();
  const std::string path =
      hash == 0 ? from.path() : (folder / link.substr(0, hash)).lexically_normal().generic_string();
  const File* file = tree.Find(path);
  return tree.paths.contains(path) && (hash == std::string::npos || file == nullptr ||
                                       AnchorsOf(*file).contains(link.substr(hash + 1)));
}

}  // namespace

void CheckLinks(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    if (!file.path().ends_with(".md")) {
      continue;
    }
    for (const auto& [number, line] : ProseOf(file)) {
      for (const std::string& link : LinksOf(line)) {
        if (!Leads(tree, file, link)) {
          complaints.push_back({file.path(), number, kLink, "\"" + link + "\" leads nowhere"});
        }
      }
    }
  }
}

}  // namespace podgpu::tidy
