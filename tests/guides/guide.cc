#include "tests/guides/guide.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/text.h"

namespace podgpu::guides {
namespace {

constexpr std::string_view kFence = "```";

// The cells of a table's row; empty for another line. A "\|" belongs to its cell.
std::vector<std::string> Cells(std::string line) {
  std::vector<std::string> cells;
  if (line.starts_with('|')) {
    RE2::GlobalReplace(&line, R"(\\\|)", "\n");
    for (const std::string_view cell : Split(std::string_view(line).substr(1), '|')) {
      std::ranges::replace(cells.emplace_back(Trim(cell, " ")), '\n', '|');
    }
  }
  return cells;
}

void AddCommands(const Block& block, std::vector<Command>& commands) {
  bool continues = false;
  int line = block.line;
  for (std::string_view text : block.lines) {
    ++line;
    if (!continues && (Trim(text).empty() || Trim(text).starts_with('#'))) {
      continue;
    }
    if (!continues) {
      commands.push_back({line, "", {}});
    }
    continues = text.ends_with('\\');
    text.remove_suffix(continues ? 1 : 0);
    commands.back().text += text;
  }
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
    if (block.kind == "text" && after_commands && IsGuide(path)) {
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

std::vector<std::string> DocumentPaths() {
  std::vector<std::string> paths = {"README.md", "CONTRIBUTING.md", "deploy/helm/podgpu/README.md"};
  for (const auto& entry : std::filesystem::directory_iterator("docs")) {
    const std::string path = entry.path().string();
    if (path.ends_with(".md") && path != "docs/install-bare-metal.md" &&
        path != "docs/install-slurm.md" && (IsGuide(path) || !ReadGuide(path).Of("sh").empty())) {
      paths.push_back(path);
    }
  }
  std::ranges::sort(paths);
  return paths;
}

bool IsGuide(std::string_view path) {
  return path.starts_with("docs/install-") || path.starts_with("docs/migrate-from-");
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word && c == '#') {
      break;
    }
    if (!in_word) {
      words.emplace_back();
      in_word = true;
    }
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      const bool escaped = c == '\\' && quote != '\'' && i + 1 < command.size();
      words.back() += escaped ? command[++i] : c;
    }
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
    const std::vector<std::string> cells = Cells(std::string(line));
    if (header.empty() || cells.empty()) {
      header = cells;
    }
    const auto column = static_cast<size_t>(std::ranges::find(header, title) - header.begin());
    if (column < header.size() && column < cells.size()) {
      const std::vector<std::string_view> parts = Split(cells[column], '`');
      for (size_t i = 1; i + 1 < parts.size(); i += 2) {
        names.emplace_back(parts[i]);
      }
    }
  }
  return names;
}

bool Shows(const std::string& output, const std::vector<std::string>& shown) {
  std::string pattern;
  for (const std::string& line : shown) {
    pattern += (pattern.empty() ? "(?m)^" : "$(?s:.*)^") + RE2::QuoteMeta(line);
  }
  RE2::GlobalReplace(&pattern, R"(\\\.\\\.\\\.)", ".*");
  return RE2::PartialMatch(output, pattern + "$");
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

}  // namespace podgpu::guides
