#include "sim/program/command_line.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/roff.h"
#include "base/text.h"
#include "base/version.h"

namespace podgpu::sim {
namespace {

// "; nearest is --dir", or a pointer to the help when no name is near.
std::string Hint(std::string_view name, std::span<const std::string_view> known,
                 std::string_view help) {
  const std::optional<std::string_view> nearest = Nearest(name, known);
  return nearest ? absl::StrFormat("; nearest is %s", *nearest) : absl::StrFormat("; see %s", help);
}

std::string HelpOf(const Command& command) {
  return absl::StrFormat("`podgpu-sim %s --help`", command.name);
}

StatusOr<const Flag*> FindFlag(const Command& command, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Flag& flag : command.flags) {
    if (flag.name == name) {
      return &flag;
    }
    known.push_back(flag.name);
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "podgpu-sim %s: unknown flag %s%s", command.name, name, Hint(name, known, HelpOf(command))));
}

Status CheckOperands(const Command& command, const Arguments& arguments) {
  if (arguments.operands.size() < command.least_operands) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "podgpu-sim %s: %s is missing; see %s", command.name, command.operands, HelpOf(command)));
  }
  if (arguments.operands.size() > command.most_operands) {
    return absl::InvalidArgumentError(
        absl::StrFormat("podgpu-sim %s: unexpected operand \"%s\"; see %s", command.name,
                        arguments.operands[command.most_operands], HelpOf(command)));
  }
  return absl::OkStatus();
}

std::string Usage(const Command& command) {
  std::string usage = absl::StrFormat("podgpu-sim %s", command.name);
  if (!command.operands.empty()) {
    usage += absl::StrFormat(" %s", command.operands);
  }
  return usage + (command.flags.empty() ? "" : " [FLAGS]") +
         (command.takes_program ? " [-- PROGRAM [ARGUMENT...]]" : "");
}

}  // namespace

std::optional<std::string> Arguments::Get(std::string_view flag) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::nullopt : std::optional(found->second);
}

StatusOr<const Command*> FindCommand(std::span<const Command> commands, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Command& command : commands) {
    if (command.name == name) {
      return &command;
    }
    known.push_back(command.name);
  }
  return absl::InvalidArgumentError(absl::StrFormat("podgpu-sim: unknown command \"%s\"%s", name,
                                                    Hint(name, known, "`podgpu-sim --help`")));
}

StatusOr<Arguments> ParseArguments(const Command& command, std::span<const std::string> words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == kProgramFollows && command.takes_program) {
      arguments.program.assign(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      if (arguments.program.empty()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "podgpu-sim %s: no program follows --; see %s", command.name, HelpOf(command)));
      }
      break;
    }
    if (word.size() < 2 || !word.starts_with('-')) {
      arguments.operands.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    PODGPU_ASSIGN_OR_RETURN(const Flag* const flag, FindFlag(command, word.substr(0, equals)));
    if (flag->value.empty() != (equals == std::string::npos) && flag->value.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("podgpu-sim %s: %s takes no value", command.name, flag->name));
    }
    if (flag->value.empty()) {
      arguments.Set(flag->name, "");
    } else if (equals != std::string::npos) {
      arguments.Set(flag->name, word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      arguments.Set(flag->name, words[++i]);
    } else {
      return absl::InvalidArgumentError(absl::StrFormat("podgpu-sim %s: %s needs a value, %s",
                                                        command.name, flag->name, flag->value));
    }
  }
  PODGPU_RETURN_IF_ERROR(CheckOperands(command, arguments));
  return arguments;
}

std::string ProgramHelp(std::span<const Command> commands) {
  std::string text =
      "podgpu-sim: a simulated GPU node, for trying and testing podgpu without a GPU.\n"
      "\n"
      "It compiles a scenario into a world, serves the world as a node's kubelet and host engine,\n"
      "and lets other programs read it through a simulated libdcgm and libnvidia-ml.  Every\n"
      "number is invented.\n"
      "\n"
      "usage: podgpu-sim COMMAND ...\n"
      "\n";
  for (const Command& command : commands) {
    text += absl::StrFormat("  %-12s %s\n", command.name, command.summary);
  }
  return text + "\nHelp for one command: podgpu-sim COMMAND --help\n";
}

std::string CommandHelp(const Command& command) {
  std::string text = absl::StrFormat("%s\n\nusage: %s\n", command.summary, Usage(command));
  if (!command.flags.empty()) {
    text += "\n";
  }
  for (const Flag& flag : command.flags) {
    const std::string left = flag.value.empty() ? std::string(flag.name)
                                                : absl::StrFormat("%s %s", flag.name, flag.value);
    text += absl::StrFormat("  %-20s %s\n", left, flag.help);
  }
  if (command.more_help != nullptr) {
    text += "\n" + command.more_help();
  }
  return text;
}

std::string ManualPage(std::span<const Command> commands) {
  std::string text = absl::StrFormat(
      ".TH PODGPU\\-SIM 1 \"\" \"podgpu %s\" \"User Commands\"\n"
      ".SH NAME\npodgpu\\-sim \\- a simulated GPU node\n"
      ".SH SYNOPSIS\n.B podgpu\\-sim\n\\fICOMMAND\\fR ...\n"
      ".SH DESCRIPTION\n"
      "podgpu\\-sim compiles a scenario into a world, serves the world as the kubelet and the host "
      "engine of a node, and lets other programs read it through a simulated libdcgm and "
      "libnvidia\\-ml. It is for trying and testing podgpu without a GPU: every number is "
      "invented.\n",
      kVersion);
  for (const Command& command : commands) {
    absl::StrAppendFormat(&text, ".SH \"COMMAND: %s\"\n.B %s\n.PP\n%s.\n", RoffText(command.name),
                          RoffText(Usage(command)), RoffText(command.summary));
    for (const Flag& flag : command.flags) {
      absl::StrAppendFormat(&text, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", RoffText(flag.name),
                            RoffText(flag.value), RoffText(flag.help));
    }
    if (command.more_help != nullptr) {
      absl::StrAppendFormat(&text, ".PP\n.nf\n%s.fi\n", RoffText(command.more_help()));
    }
  }
  return text +
         ".SH ENVIRONMENT\n.TP\n.B PODGPU_SIM_DIR\nThe run directory, if \\fB\\-\\-dir\\fR is not "
         "given. The simulated libraries also read it.\n"
         ".SH EXIT STATUS\n0 when done, 2 for wrong use or a wrong scenario, 1 for any other "
         "failure.\n.SH SEE ALSO\n.BR podgpu (1)\n";
}

}  // namespace podgpu::sim
