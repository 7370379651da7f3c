#include "tests/guides/namespaces.h"

#include <algorithm>

namespace podgpu::guides {
namespace {

constexpr const char* kLabel = "pod-security.kubernetes.io/enforce=privileged";

// The name of the namespace that a command of kubectl or oc makes; "" if it makes none.
std::string MadeBy(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "oc" && words[1] == "new-project") {
    return words[2];
  }
  const bool is_create = words.size() >= 4 && (words[0] == "kubectl" || words[0] == "oc") &&
                         words[1] == "create" && (words[2] == "namespace" || words[2] == "ns");
  return is_create ? words[3] : "";
}

bool Labels(const std::vector<std::string>& words, const std::string& name) {
  return words.size() >= 5 && (words[0] == "kubectl" || words[0] == "oc") && words[1] == "label" &&
         words[2] == "namespace" && words[3] == name && words[4] == kLabel;
}

}  // namespace

std::vector<std::string> NamespacesWithoutLabel(const Guide& guide) {
  std::vector<std::string> without;
  const std::vector<Command> commands = guide.Commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    const std::vector<std::string> words = Words(commands[i].text);
    const std::string name = MadeBy(words);
    const bool has_label = i + 1 < commands.size() && Labels(Words(commands[i + 1].text), name);
    if (std::ranges::find(words, "--create-namespace") != words.end() ||
        (!name.empty() && !has_label)) {
      without.push_back(guide.path + ":" + std::to_string(commands[i].line) + ": " +
                        commands[i].text);
    }
  }
  return without;
}

}  // namespace podgpu::guides
