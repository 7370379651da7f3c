#include "cli/completion.h"

#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cli/flag_table.h"
#include "cli/roles.h"

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

// The shells decide by the first word.  Without a role it is a flag of the node.
std::string BashScript() {
  std::string commands;
  std::string cases;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&commands, " %s", role.name);
    if (role.flags != nullptr) {
      absl::StrAppendFormat(&cases, "      %s) words=\"%s\" ;;\n", role.name,
                            BashWords(role.flags()));
    }
  }
  return absl::StrFormat(
      "# Completion of podgpu for bash: source <(podgpu completion bash)\n"
      "_podgpu() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"%s\"\n"
      "  COMPREPLY=()\n"
      "  if [[ ${COMP_CWORD} -ge 2 ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n"
      "%s"
      "    esac\n"
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
      BashWords(FlagTexts(FlagTable())), cases, commands);
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
  std::string cases;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&commands, "'%s:%s' ", role.name, ShortHelp(role.meaning));
    if (role.flags != nullptr) {
      absl::StrAppendFormat(&cases, "      %s) _arguments%s; return ;;\n", role.name,
                            ZshArguments(role.flags()));
    }
  }
  return absl::StrFormat(
      "#compdef podgpu\n"
      "# Completion of podgpu for zsh: podgpu completion zsh > a folder of $fpath/_podgpu\n"
      "_podgpu() {\n"
      "  local -a commands=(%s)\n"
      "  if [[ $CURRENT -ge 3 ]]; then\n"
      "    case $words[2] in\n"
      "      completion) [[ $CURRENT -eq 3 ]] && compadd bash zsh fish; return ;;\n"
      "%s"
      "    esac\n"
      "  fi\n"
      "  [[ $CURRENT -eq 2 && $words[2] != -* ]] && _describe command commands\n"
      "  _arguments%s\n"
      "}\n"
      "compdef _podgpu podgpu\n",
      commands, cases, ZshArguments(FlagTexts(FlagTable())));
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
  std::string others;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&script, "complete -c podgpu -n __fish_use_subcommand -a %s -d '%s'\n",
                          role.name, ShortHelp(role.meaning));
    others += role.name == "node" ? "" : absl::StrFormat(" %s", role.name);
  }
  script +=
      "complete -c podgpu -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n";
  for (const Role& role : Roles()) {
    if (role.flags != nullptr) {
      const std::string condition =
          role.name == "node" ? absl::StrFormat("not __fish_seen_subcommand_from%s", others)
                              : absl::StrFormat("__fish_seen_subcommand_from %s", role.name);
      AppendFishFlags(role.flags(), condition, script);
    }
  }
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
