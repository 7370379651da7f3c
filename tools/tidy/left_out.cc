#include <cctype>
#include <set>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

constexpr std::string_view kList = "docs/arm64.md";
constexpr std::string_view kRowBegin = "| `";

// "Suite.Name" of every TEST, TEST_F and TEST_P of the file, and "Suite.*".
void CollectTests(const File& file, std::set<std::string>& tests) {
  const std::string& code = file.code();
  for (const std::string_view macro : {"TEST(", "TEST_F(", "TEST_P("}) {
    for (size_t at = code.find(macro); at != std::string::npos; at = code.find(macro, at + 1)) {
      std::string name;
      for (size_t i = at + macro.size(); i < code.size() && code[i] != ')'; ++i) {
        if (std::isspace(static_cast<unsigned char>(code[i])) == 0) {
          name += code[i] == ',' ? '.' : code[i];
        }
      }
      tests.insert(name);
      tests.insert(name.substr(0, name.find('.')) + ".*");
    }
  }
}

// "Suite.Name" of a pattern of GoogleTest: a test with parameters is "Instance/Suite.Name/*".
std::string NameOfPattern(std::string_view pattern) {
  const size_t dot = pattern.find('.');
  pattern = pattern.substr(0, pattern.find('/', dot));
  const size_t instance = pattern.substr(0, dot).rfind('/');
  return std::string(pattern.substr(instance + 1));  // npos + 1 is 0.
}

}  // namespace

void CheckLeftOut(const Tree& tree, Complaints& complaints) {
  const File* list = tree.Find(kList);
  if (list == nullptr) {
    return;
  }
  std::set<std::string> tests;
  for (const File& file : tree.files) {
    if (file.is_cpp()) {
      CollectTests(file, tests);
    }
  }
  int number = 0;
  for (std::string_view line : list->Lines()) {
    ++number;
    if (!line.starts_with(kRowBegin)) {
      continue;
    }
    line.remove_prefix(kRowBegin.size());
    const std::string_view pattern = line.substr(0, line.find('`'));
    if (!tests.contains(NameOfPattern(pattern))) {
      complaints.push_back({list->path(), number, Rule::kLostTest,
                            "no test is called \"" + std::string(pattern) + "\""});
    }
  }
}

}  // namespace podgpu::tidy
