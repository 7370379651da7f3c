// A document as its tests read it: fenced blocks, commands with the output that they show, tables.
//
// A guide has blocks of these kinds only: `sh` (commands), `text` directly after it (lines of the
// last command's output, "..." stands for any text), `diff` (a change of a manifest), `yaml` (a
// file; a first line "# name.yaml" names it), `promql` (a query per line). The text of a Guide is a
// copy. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yaml/yaml_tree.h"

namespace podgpu::guides {

// A fenced block; `line` counts from 1 and is that of its fence.
struct Block {
  std::string kind;
  int line = 1;
  std::vector<std::string> lines;

  std::string text() const;
};

// A command of a `sh` block, its continuation lines joined, and the lines that its output must
// have.
struct Command {
  int line = 1;
  std::string text;
  std::vector<std::string> shown;
};

struct Guide {
  std::string path;  // In the source tree: "docs/install-kubernetes.md".
  std::string text;
  std::vector<Block> blocks;

  // The `text` blocks of documents that are no guides need not be outputs: there `shown` is empty.
  std::vector<Command> Commands() const;
  std::vector<const Block*> Of(std::string_view kind) const;
  // The content of the `yaml` block that begins with "# name"; "" without one.
  std::string FileNamed(std::string_view name) const;
};

// The paths of all guides and of all other documents for users that have commands, but not those
// for hosts without Kubernetes, whose commands run where the package is installed (tests/package).
std::vector<std::string> DocumentPaths();
// Whether it is a guide: docs/install-*.md or docs/migrate-from-*.md.
bool IsGuide(std::string_view path);
std::string ReadText(const std::string& path);
Guide ReadGuide(const std::string& path);

// The words of a command as a POSIX shell splits it, up to a comment. No expansion, no pipes.
std::vector<std::string> Words(std::string_view command);

// The text of a diff after its change, without the column of marks.
std::string AfterChange(const Block& diff);

// The backticked names in a column of all tables whose header has `title` there.
std::vector<std::string> NamesInColumn(const Guide& guide, std::string_view title);

// Whether each of `shown` matches a line of `output`, in this order.
bool Shows(const std::string& output, const std::vector<std::string>& shown);

// The value of `key` in a map; a null node if it has none.
const YamlNode& At(const YamlNode& node, std::string_view key);

}  // namespace podgpu::guides
