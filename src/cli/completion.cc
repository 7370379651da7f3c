#include "cli/completion.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "cli/roles.h"
#include "cli/top_flags.h"

namespace podgpu {
namespace {

// Returns the text up to the first full stop, without characters that would break a shell's quotes
// or zsh's grammar.
std::string ShortHelp(std::string_view help) {
  std::string text;
  for (const char c : help.substr(0, help.find(". "))) {
    constexpr std::string_view kTroublesome = "'\"`$\\[]:";
    text += kTroublesome.find(c) == std::string_view::npos ? c : ' ';
  }
  while (text.ends_with('.') || text.ends_with(' ')) {
    text.pop_back();
  }
  return text;
}

bool TakesNoValue(const FlagText& flag) {
  return flag.kind == FlagKind::kBool || flag.kind == FlagKind::kOptional;
}

// The flags of the node role, of `podgpu cluster`, of `podgpu doctor` and of `podgpu top`.
std::vector<FlagText> NodeFlags() { return FlagTexts(FlagTable()); }
std::vector<FlagText> ClusterFlags() { return FlagTexts(ClusterFlagTable()); }
std::vector<FlagText> TopFlags() { return FlagTexts(TopFlagTable()); }

// The doctor's own, then those of the node that it does not have itself.
std::vector<FlagText> DoctorFlags() {
  std::vector<FlagText> flags = FlagTexts(DoctorFlagTable());
  const size_t own = flags.size();
  for (const FlagText& flag : NodeFlags()) {
    const auto end = flags.begin() + static_cast<std::ptrdiff_t>(own);
    if (std::find_if(flags.begin(), end,
                     [&flag](const FlagText& one) { return one.name == flag.name; }) == end) {
      flags.push_back(flag);
    }
  }
  return flags;
}

std::string BashWords(const std::vector<FlagText>& flags) {
  std::string words;
  for (const FlagText& flag : flags) {
    absl::StrAppendFormat(&words, " --%s", flag.name);
    if (!flag.alias.empty()) {
      absl::StrAppendFormat(&words, " -%s", flag.alias);
    }
  }
  return words;
}

std::string BashScript() {
  std::string commands;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&commands, " %s", role.name);
  }
  return absl::StrFormat(
      "# Completion of podgpu for bash: source <(podgpu completion bash)\n"
      "_podgpu() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"%s\"\n"
      "  COMPREPLY=()\n"
      "  if [[ ${COMP_CWORD} -ge 2 && ${COMP_WORDS[1]} == cluster ]]; then\n"
      "    words=\"%s\"\n"
      "  elif [[ ${COMP_CWORD} -ge 2 && ${COMP_WORDS[1]} == top ]]; then\n"
      "    words=\"%s\"\n"
      "  elif [[ ${COMP_CWORD} -ge 2 && ${COMP_WORDS[1]} == doctor ]]; then\n"
      "    words=\"%s\"\n"
      "  fi\n"
      "  if [[ ${COMP_CWORD} -eq 2 && ${COMP_WORDS[1]} == completion ]]; then\n"
      "    words=\"bash zsh fish\"\n"
      "  elif [[ ${COMP_CWORD} -eq 1 ]]; then\n"
      "    words=\"%s${words}\"\n"
      "  elif [[ ${word} != -* ]]; then\n"
      "    return  # A value: the shell offers file names.\n"
      "  fi\n"
      "  while IFS= read -r match; do COMPREPLY+=(\"${match}\"); done < <(compgen -W \"${words}\" "
      "-- \"${word}\")\n"
      "}\n"
      "complete -o default -F _podgpu podgpu\n",
      BashWords(NodeFlags()), BashWords(ClusterFlags()), BashWords(TopFlags()),
      BashWords(DoctorFlags()), commands);
}

std::string ZshArguments(const std::vector<FlagText>& flags) {
  std::string arguments;
  for (const FlagText& flag : flags) {
    const char* const value = TakesNoValue(flag) ? "" : "=";
    const char* const action = TakesNoValue(flag) ? "" : ":value:_default";
    absl::StrAppendFormat(&arguments, " \\\n    '--%s%s[%s]%s'", flag.name, value,
                          ShortHelp(flag.help), action);
    if (!flag.alias.empty()) {
      absl::StrAppendFormat(&arguments, " \\\n    '-%s[%s]%s'", flag.alias, ShortHelp(flag.help),
                            action);
    }
  }
  return arguments;
}

std::string ZshScript() {
  std::string commands;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&commands, "'%s:%s' ", role.name, ShortHelp(role.meaning));
  }
  return absl::StrFormat(
      "#compdef podgpu\n"
      "# Completion of podgpu for zsh: podgpu completion zsh > a folder of $fpath/_podgpu\n"
      "_podgpu() {\n"
      "  local -a commands=(%s)\n"
      "  if [[ $CURRENT -eq 3 && $words[2] == completion ]]; then\n"
      "    compadd bash zsh fish\n"
      "    return\n"
      "  fi\n"
      "  if [[ $CURRENT -ge 3 && $words[2] == cluster ]]; then\n"
      "    _arguments%s\n"
      "    return\n"
      "  fi\n"
      "  if [[ $CURRENT -ge 3 && $words[2] == top ]]; then\n"
      "    _arguments%s\n"
      "    return\n"
      "  fi\n"
      "  if [[ $CURRENT -ge 3 && $words[2] == doctor ]]; then\n"
      "    _arguments%s\n"
      "    return\n"
      "  fi\n"
      "  [[ $CURRENT -eq 2 && $words[2] != -* ]] && _describe command commands\n"
      "  _arguments%s\n"
      "}\n"
      "compdef _podgpu podgpu\n",
      commands, ZshArguments(ClusterFlags()), ZshArguments(TopFlags()), ZshArguments(DoctorFlags()),
      ZshArguments(NodeFlags()));
}

// Adds one line per flag, offered when `condition` holds.
void AppendFishFlags(const std::vector<FlagText>& flags, std::string_view condition,
                     std::string& script) {
  for (const FlagText& flag : flags) {
    absl::StrAppendFormat(&script, "complete -c podgpu -n '%s' -l %s", condition, flag.name);
    if (!flag.alias.empty()) {
      absl::StrAppendFormat(&script, " %s %s", flag.alias.size() == 1 ? "-s" : "-o", flag.alias);
    }
    absl::StrAppendFormat(&script, "%s -d '%s'\n", TakesNoValue(flag) ? "" : " -r",
                          ShortHelp(flag.help));
  }
}

std::string FishScript() {
  std::string script =
      "# Completion of podgpu for fish: podgpu completion fish > "
      "~/.config/fish/completions/podgpu.fish\n";
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&script, "complete -c podgpu -n __fish_use_subcommand -a %s -d '%s'\n",
                          role.name, ShortHelp(role.meaning));
  }
  script +=
      "complete -c podgpu -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
  AppendFishFlags(NodeFlags(), "not __fish_seen_subcommand_from cluster doctor top", script);
  AppendFishFlags(ClusterFlags(), "__fish_seen_subcommand_from cluster", script);
  AppendFishFlags(TopFlags(), "__fish_seen_subcommand_from top", script);
  AppendFishFlags(DoctorFlags(), "__fish_seen_subcommand_from doctor", script);
  return script;
}

}  // namespace

StatusOr<std::string> CompletionScript(std::string_view shell) {
  if (shell == "bash") {
    return BashScript();
  }
  if (shell == "zsh") {
    return ZshScript();
  }
  if (shell == "fish") {
    return FishScript();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "completion supports bash, zsh and fish, not %s. See podgpu --help", Quoted(shell)));
}

}  // namespace podgpu
