// The grammar of the command line for all commands: flags as data, and their parser.
//
// One or two dashes for any name, --name=value or --name value, booleans in Go's forms, lists that
// append and split on commas; the first positional argument ends the flags. Every flag can also be
// set by an environment variable; the command line wins. A command is a table of FlagOf rows and a
// struct that they fill; help and documents are made from the same rows. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"

namespace podgpu {

// Looks up an environment variable; returns nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

enum class FlagKind : uint8_t {
  kBool,
  kInt,
  kString,
  kList,
  kDuration,
  kMilliseconds,  // A whole number of milliseconds, or a duration.
  kSwitch,        // "on" or "off", or a boolean; without a value it means on.
  kOptional,      // A text after "="; without one the empty text.
};

// Returns the name of a kind: "bool", "int", "string", "list", "duration", "milliseconds", "switch"
// or "text".
std::string_view FlagKindName(FlagKind kind);

template <typename Command>
struct FlagOf {
  std::string_view name;      // The name without dashes.
  std::string_view alias;     // A second name; empty: none.
  std::string_view variable;  // Environment variable; empty: none.
  FlagKind kind = {};
  std::string_view default_text;  // The default as help shows it; empty: none.
  std::string_view help;
  // Stores the value in `command`. Its error tells the allowed values, without the flag's name.
  Status (*apply)(Command& command, std::string_view value);
  // Empties a list; null for other kinds.
  void (*clear)(Command& command) = nullptr;
  // The long name of this flag in another program that podgpu replaces; empty: none.
  std::string_view other_name = {};
};

// A row without its functions.
struct FlagText {
  std::string_view name, alias, variable;
  FlagKind kind = FlagKind::kString;
  std::string_view default_text, help, other_name;
};
template <typename Command>
std::vector<FlagText> FlagTexts(std::span<const FlagOf<Command>> table) {
  std::vector<FlagText> texts;
  for (const FlagOf<Command>& flag : table) {
    texts.push_back({flag.name, flag.alias, flag.variable, flag.kind, flag.default_text, flag.help,
                     flag.other_name});
  }
  return texts;
}

// A row bound to one command.
struct BoundFlag {
  FlagText text;
  std::function<Status(std::string_view value)> apply;
  std::function<void()> clear;
};
template <typename Command>
std::vector<BoundFlag> BindFlags(std::span<const FlagOf<Command>> table, Command& command) {
  std::vector<BoundFlag> bound;
  const std::vector<FlagText> texts = FlagTexts(table);
  for (size_t i = 0; i < table.size(); ++i) {
    const FlagOf<Command>& flag = table[i];
    bound.push_back(
        {texts[i], [&flag, &command](std::string_view value) { return flag.apply(command, value); },
         [&flag, &command] {
           if (flag.clear != nullptr) {
             flag.clear(command);
           }
         }});
  }
  return bound;
}

// Reads the environment, then `arguments`, and returns the positional arguments. On failure
// kInvalidArgument with the complete line to print; `hint` tells where the flags are listed.
StatusOr<std::vector<std::string>> ReadFlags(const std::vector<BoundFlag>& flags,
                                             std::span<const std::string> arguments,
                                             const Environment& environment, std::string_view hint);

// The rows for --help, and as table lines for docs/flags.md.
std::string FlagHelp(std::span<const FlagText> flags);
std::string FlagRows(std::span<const FlagText> flags);

// Values that several commands use. The first two functions require a value that was already
// validated.
std::chrono::milliseconds MillisecondsOf(std::string_view value);
bool IsOn(std::string_view value);
Status ReadLogLevel(std::string_view value, LogLevel& level);
Status ReadLogForm(std::string_view value, LogForm& form);

}  // namespace podgpu
