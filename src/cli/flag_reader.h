// The grammar of the command line, whatever the command: flags as data, and their reader.
//
// One or two dashes for any name, --name=value or --name value, booleans in Go's forms, lists that
// append and split on commas, and the first positional argument ends the flags.  Every flag may
// come from an environment variable; the command line wins.  A command is a table of FlagOf rows
// and a struct that they fill; help and documents are made from the same rows.  Pure functions.
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

// Looks up an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

enum class FlagKind : uint8_t {
  kBool,
  kInt,
  kString,
  kList,
  kDuration,
  kMilliseconds,  // A whole number of them, or a duration.
  kSwitch,        // "on" or "off", or a boolean; alone it means on.
};

// "bool", "int", "string", "list", "duration", "milliseconds", "switch".
std::string_view FlagKindName(FlagKind kind);

template <typename Command>
struct FlagOf {
  std::string_view name;      // Without dashes.
  std::string_view alias;     // A second name, empty where there is none.
  std::string_view variable;  // Environment variable, empty where there is none.
  FlagKind kind;
  std::string_view default_text;  // As shown; empty: none.
  std::string_view help;
  // Puts the value into `command`.  Its error says what is allowed, without the flag's name.
  Status (*apply)(Command& command, std::string_view value);
  // Of a list: empties it.  Null for all else.
  void (*clear)(Command& command) = nullptr;
  // A long name that a program calls it which podgpu stands for, empty where there is none.
  std::string_view other_name = {};
};

// A row without what it fills.
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

// A row that fills one command.
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

// Reads the environment, then `arguments`, and returns the positional ones.  kInvalidArgument with
// the complete line to print; `hint` says where the flags are listed.
StatusOr<std::vector<std::string>> ReadFlags(const std::vector<BoundFlag>& flags,
                                             std::span<const std::string> arguments,
                                             const Environment& environment, std::string_view hint);

// The rows as --help shows them, and as lines of a table in docs/flags.md.
std::string FlagHelp(std::span<const FlagText> flags);
std::string FlagRows(std::span<const FlagText> flags);

// Values that several commands take.  The first two are for values of their kinds, checked already.
std::chrono::milliseconds MillisecondsOf(std::string_view value);
bool IsOn(std::string_view value);
Status ReadLogLevel(std::string_view value, LogLevel& level);
Status ReadLogForm(std::string_view value, LogForm& form);

}  // namespace podgpu
