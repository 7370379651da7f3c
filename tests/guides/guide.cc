#include "tests/guides/guide.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/text.h"

namespace podgpu::guides {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::string_view kAnyText = "...";

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether `line` is `pattern`, in which "..." stands for any text.
bool Matches(std::string_view line, std::string_view pattern) {
  const size_t gap = pattern.find(kAnyText);
  if (gap == std::string_view::npos) {
    return line == pattern;
  }
  if (!line.starts_with(pattern.substr(0, gap))) {
    return false;
  }
  line.remove_prefix(gap);
  pattern.remove_prefix(gap + kAnyText.size());
  for (size_t skipped = 0; skipped <= line.size(); ++skipped) {
    if (Matches(line.substr(skipped), pattern)) {
      return true;
    }
  }
  return false;
}

// The cells of a table's row; empty for another line. A "\|" belongs to its cell.
std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with('|')) {
    return cells;
  }
  std::string cell;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back(Trim(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

std::vector<std::string> Backticked(std::string_view text) {
  std::vector<std::string> names;
  const std::vector<std::string_view> parts = Split(text, '`');
  for (size_t i = 1; i + 1 < parts.size(); i += 2) {
    names.emplace_back(parts[i]);
  }
  return names;
}

bool Continues(std::string_view line) { return line.ends_with('\\'); }

void AddCommands(const Block& block, std::vector<Command>& commands) {
  std::string joined;
  int line = block.line;
  int begin = 0;
  for (const std::string& text : block.lines) {
    ++line;
    if (joined.empty() && (Trim(text).empty() || Trim(text).starts_with('#'))) {
      continue;
    }
    begin = joined.empty() ? line : begin;
    joined += Continues(text) ? text.substr(0, text.size() - 1) : text;
    if (!Continues(text)) {
      commands.push_back({begin, joined, {}});
      joined.clear();
    }
  }
}

bool IsOfThePackage(std::string_view name) {
  return name == "install-bare-metal.md" || name == "install-slurm.md";
}

// The documents in docs/ whose file names `is_wanted` accepts, in order.
std::vector<std::string> DocumentsWith(bool (*is_wanted)(std::string_view name)) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("docs")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".md") && is_wanted(name)) {
      paths.push_back("docs/" + name);
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

std::string Block::text() const {
  std::string all;
  for (const std::string& one : lines) {
    all += one + "\n";
  }
  return all;
}

std::vector<Command> Guide::Commands() const {
  std::vector<Command> commands;
  bool after_commands = false;
  for (const Block& block : blocks) {
    if (block.kind == "text" && after_commands) {
      commands.back().shown = block.lines;
    }
    if (block.kind == "sh") {
      AddCommands(block, commands);
    }
    after_commands = block.kind == "sh" && !commands.empty();
  }
  return commands;
}

std::vector<const Block*> Guide::Of(std::string_view kind) const {
  std::vector<const Block*> found;
  for (const Block& block : blocks) {
    if (block.kind == kind) {
      found.push_back(&block);
    }
  }
  return found;
}

std::string Guide::FileNamed(std::string_view name) const {
  for (const Block* block : Of("yaml")) {
    if (!block->lines.empty() && block->lines.front() == "# " + std::string(name)) {
      return block->text();
    }
  }
  return "";
}

std::vector<std::string> GuidePaths() {
  return DocumentsWith([](std::string_view name) {
    return !IsOfThePackage(name) &&
           (name.starts_with("install-") || name.starts_with("migrate-from-"));
  });
}

std::vector<std::string> ReferencePaths() {
  const std::vector<std::string> guides = GuidePaths();
  std::vector<std::string> paths = {"README.md", "CONTRIBUTING.md", "deploy/helm/podgpu/README.md"};
  for (const std::string& path :
       DocumentsWith([](std::string_view name) { return !IsOfThePackage(name); })) {
    if (std::ranges::find(guides, path) == guides.end() && !ReadGuide(path).Of("sh").empty()) {
      paths.push_back(path);
    }
  }
  return paths;
}

std::string TestNameOf(const std::string& path) {
  std::string name = path.substr(0, path.rfind('.'));
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}

Guide ReadGuide(const std::string& path) {
  Guide guide{path, ReadText(path), {}};
  bool inside = false;
  int line = 0;
  for (const std::string_view text : Split(guide.text, '\n')) {
    ++line;
    if (text.starts_with(kFence)) {
      inside = !inside;
      if (inside) {
        guide.blocks.push_back({std::string(text.substr(kFence.size())), line, {}});
      }
    } else if (inside) {
      guide.blocks.back().lines.emplace_back(text);
    }
  }
  EXPECT_FALSE(inside) << path << ": the last block has no end";
  return guide;
}

std::vector<std::string> Words(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && c == ' ') {
      if (in_word) {
        words.push_back(word);
      }
      word.clear();
      in_word = false;
    } else if (quote == 0 && c == '#' && !in_word) {
      break;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      in_word = true;
    } else {
      const bool escaped = c == '\\' && quote != '\'' && i + 1 < command.size();
      word += escaped ? command[++i] : c;
      in_word = true;
    }
  }
  if (in_word) {
    words.push_back(word);
  }
  return words;
}

std::string AfterChange(const Block& diff) {
  std::string after;
  for (const std::string& line : diff.lines) {
    if (!line.starts_with('-')) {
      after += (line.empty() ? "" : line.substr(1)) + "\n";
    }
  }
  return after;
}

std::vector<std::string> NamesInColumn(const Guide& guide, std::string_view title) {
  std::vector<std::string> names;
  std::vector<std::string> header;
  for (const std::string_view line : Split(guide.text, '\n')) {
    const std::vector<std::string> cells = Cells(line);
    if (cells.empty()) {
      header.clear();
      continue;
    }
    header = header.empty() ? cells : header;
    const auto column = std::ranges::find(header, title);
    const auto index = static_cast<size_t>(column - header.begin());
    if (column != header.end() && index < cells.size()) {
      std::ranges::move(Backticked(cells[index]), std::back_inserter(names));
    }
  }
  return names;
}

bool Shows(std::string_view output, const std::vector<std::string>& shown) {
  size_t found = 0;
  for (const std::string_view line : Split(output, '\n')) {
    if (found < shown.size() && Matches(line, shown[found])) {
      ++found;
    }
  }
  return found == shown.size();
}

const YamlNode& At(const YamlNode& node, std::string_view key) {
  static const YamlNode kNothing;
  for (size_t i = 0; i < node.keys.size(); ++i) {
    if (node.keys[i].text == key) {
      return node.items[i];
    }
  }
  return kNothing;
}

std::vector<YamlNode> Documents(const std::string& text, const std::string& where) {
  std::vector<YamlNode> documents;
  std::string document;
  const auto add = [&] {
    std::vector<YamlError> errors;
    YamlNode node = ReadYaml(document, errors);
    EXPECT_TRUE(errors.empty()) << where << ": " << (errors.empty() ? "" : errors.front().what);
    if (node.kind != YamlNode::Kind::kNull) {
      documents.push_back(std::move(node));
    }
    document.clear();
  };
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with("---")) {
      add();
    } else {
      document += std::string(line) + "\n";
    }
  }
  add();
  return documents;
}

}  // namespace podgpu::guides
