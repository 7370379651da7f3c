#include "tools/tidy/tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <utility>

namespace podgpu::tidy {
namespace {

// Walks over C++ text and blanks what is not code.
class Blanker {
 public:
  explicit Blanker(std::string text) : text_(std::move(text)) {}

  std::string Run() {
    while (at_ < text_.size()) {
      if (Starts("//")) {
        BlankTo(EndOfLine(at_));
      } else if (Starts("/*")) {
        BlankTo(After("*/", at_ + 2));
      } else if (Starts("R\"") && (at_ == 0 || !IsNameByte(text_[at_ - 1]))) {
        BlankRawString();
      } else if (text_[at_] == '"') {
        BlankLiteral('"');
      } else if (text_[at_] == '\'' && !IsDigitSeparator()) {
        BlankLiteral('\'');
      } else if (text_[at_] == '#' && AtLineStart()) {
        BlankDirective();
      } else {
        ++at_;
      }
    }
    return std::move(text_);
  }

 private:
  bool Starts(std::string_view word) const {
    return std::string_view(text_).substr(at_, word.size()) == word;
  }
  size_t EndOfLine(size_t from) const { return std::min(text_.find('\n', from), text_.size()); }
  size_t After(std::string_view word, size_t from) const {
    const size_t found = text_.find(word, from);
    return found == std::string::npos ? text_.size() : found + word.size();
  }
  bool IsDigitSeparator() const {
    return at_ > 0 && std::isxdigit(static_cast<unsigned char>(text_[at_ - 1])) != 0 &&
           at_ + 1 < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
  }
  bool AtLineStart() const {
    const size_t line = at_ == 0 ? 0 : text_.rfind('\n', at_ - 1) + 1;
    return text_.find_first_not_of(" \t", line) == at_;
  }
  void BlankTo(size_t end) {
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') {
        text_[at_] = ' ';
      }
    }
  }
  // Keeps the quotes, so that `extern ""` can be told from `extern`.
  void BlankLiteral(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2U : 1U;
    }
    ++at_;
    BlankTo(std::min(end, text_.size()));
    ++at_;
  }
  void BlankRawString() {
    const size_t open = text_.find('(', at_);
    if (open == std::string::npos) {
      at_ = text_.size();
      return;
    }
    const std::string closing = ")" + text_.substr(at_ + 2, open - at_ - 2) + "\"";
    BlankTo(After(closing, open));
  }
  void BlankDirective() {
    size_t end = EndOfLine(at_);
    while (end > 0 && text_[end - 1] == '\\' && end < text_.size()) {
      end = EndOfLine(end + 1);
    }
    BlankTo(end);
  }

  std::string text_;
  size_t at_ = 0;
};

bool EndsWithAny(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [text](std::string_view ending) { return text.ends_with(ending); });
}

bool IsChecked(std::string_view name) {
  return EndsWithAny(name, {".cc", ".h", ".inc", ".md", ".cmake"}) || name == "CMakeLists.txt";
}

// Scripts, such as `dev`, have no ending and begin with "#!".
bool MayBeScript(std::string_view name) { return name.find('.') == std::string_view::npos; }
bool IsScript(std::string_view name, std::string_view text) {
  return MayBeScript(name) && text.starts_with("#!");
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool IsNameByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

File::File(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  code_ = is_cpp() ? Blanker(text_).Run() : text_;
}

std::string_view File::name() const {
  return std::string_view(path_).substr(path_.rfind('/') + 1);  // npos + 1 is 0.
}

bool File::is_header() const { return path_.ends_with(".h"); }

bool File::is_cpp() const { return EndsWithAny(path_, {".cc", ".h", ".inc"}); }

bool File::is_test() const {
  return path_.starts_with("tests/") || EndsWithAny(path_, {"_test.cc", "_fuzz.cc", "_bench.cc"}) ||
         path_.find("/testing/") != std::string::npos;
}

int File::LineAt(size_t offset) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text_.size()));
  return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
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

bool File::Allows(int line, std::string_view rule_name) const {
  const std::string mark = "tidy: allow " + std::string(rule_name) + ": ";
  const std::vector<std::string_view> lines = Lines();
  for (int number = line - 1; number <= line; ++number) {
    if (number < 1 || number > static_cast<int>(lines.size())) {
      continue;
    }
    const std::string_view text = lines[static_cast<size_t>(number - 1)];
    const size_t found = text.find(mark);
    if (found != std::string_view::npos && text.size() > found + mark.size()) {
      return true;
    }
  }
  return false;
}

std::vector<Include> IncludesOf(const File& file) {
  std::vector<Include> includes;
  int number = 0;
  for (std::string_view line : file.Lines()) {
    ++number;
    constexpr std::string_view kWord = "#include ";
    if (!line.starts_with(kWord)) {
      continue;
    }
    line.remove_prefix(kWord.size());
    const bool quoted = line.starts_with('"');
    const size_t end = line.find(quoted ? '"' : '>', 1);
    if (end != std::string_view::npos) {
      includes.push_back({std::string(line.substr(1, end - 1)), quoted, number});
    }
  }
  return includes;
}

const File* Tree::Find(std::string_view path) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [path](const File& file) { return file.path() == path; });
  return found == files.end() ? nullptr : &*found;
}

Tree ReadTree(const std::filesystem::path& root) {
  Tree tree;
  auto entries = std::filesystem::recursive_directory_iterator(root);
  for (auto entry = begin(entries); entry != end(entries); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      if ((name.starts_with('.') && name != ".ci") || name == "build" || name == "corpus") {
        entry.disable_recursion_pending();
      }
    } else if (entry->is_regular_file() && (IsChecked(name) || MayBeScript(name))) {
      std::string text = ReadAll(entry->path());
      if (IsChecked(name) || IsScript(name, text)) {
        tree.files.emplace_back(entry->path().lexically_relative(root).generic_string(),
                                std::move(text));
      }
    }
  }
  std::sort(tree.files.begin(), tree.files.end(),
            [](const File& a, const File& b) { return a.path() < b.path(); });
  return tree;
}

}  // namespace podgpu::tidy
