// The grammar of podgpu-sim's command line: COMMAND, its operands, its flags.
//
// A Command is one row of the table in commands.cc; this file parses against it and prints help. A
// word that is not in the table is refused in one line that names the nearest known word.  Flags
// may be written --flag VALUE or --flag=VALUE, anywhere after the command and before "--".  Pure
// functions, except PrintHelp.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu::sim {

// The words after this one are a program and its arguments.
inline constexpr std::string_view kProgramFollows = "--";

struct Flag {
  std::string_view name;   // "--dir"
  std::string_view value;  // "DIR"; empty for a flag without a value.
  std::string_view help;
};

// The words after the command.
class Arguments {
 public:
  std::vector<std::string> operands;
  std::vector<std::string> program;  // The words after "--".

  bool Has(std::string_view flag) const { return flags_.contains(flag); }
  std::optional<std::string> Get(std::string_view flag) const;
  void Set(std::string_view flag, std::string value) { flags_[flag] = std::move(value); }

 private:
  std::map<std::string_view, std::string> flags_;  // The keys are the names in the table.
};

struct Command {
  std::string_view name;
  std::string_view operands;  // As in the usage line: "SCENARIO", "PROFILE...".
  size_t least_operands, most_operands;
  std::string_view summary;
  std::span<const Flag> flags;
  StatusOr<int> (*run)(const Arguments& arguments);  // Returns the exit code.
  std::string (*more_help)() = nullptr;              // Printed after the flags.
  bool takes_program = false;                        // "-- PROGRAM [ARGUMENT...]" may follow.
};

// The command that `words` (without the program's name) names; kInvalidArgument when there is none.
StatusOr<const Command*> FindCommand(std::span<const Command> commands, std::string_view name);

// Reads the words after the command's name.
StatusOr<Arguments> ParseArguments(const Command& command, std::span<const std::string> words);

// The help of the program, and of one command.
std::string ProgramHelp(std::span<const Command> commands);
std::string CommandHelp(const Command& command);

// The manual page podgpu-sim(1) in man(7)'s format, with every command and flag.
std::string ManualPage(std::span<const Command> commands);

}  // namespace podgpu::sim
