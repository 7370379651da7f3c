#include "tests/guides/unrun.h"

#include <algorithm>
#include <filesystem>
#include <re2/re2.h>
#include <string_view>

namespace podgpu::guides {
namespace {

constexpr const char* kLabel = "pod-security.kubernetes.io/enforce=privileged";

// What a command of kubectl, oc or helm mentions, and what that may be.
struct Rule {
  const char* mention;  // Its group is what is mentioned.
  const char* may_be;   // A pattern; null for the other kinds.
  enum { kPattern, kFile, kJson, kName } kind = kPattern;
};

// The ports are those of podgpu's roles and of Prometheus. The keys of a patch are those of the
// GPU Operator's ClusterPolicy.
constexpr Rule kRules[] = {
    {"^[a-z]+(?: -n [^ ]+)? ([^ ]+)",
     "apply|auth|create|delete|describe|exec|get|label|logs|new-project|patch|port-forward|replace|"
     "rollout|wait|history|install|repo|rollback|test|uninstall|upgrade"},
    {" rollout ([^ ]+)", "status|undo"},
    {" (-[^ =]+)",
     "-[nflp]|-it|--(?:as|for|force|install|raw|reset-then-reuse-values|reuse-values|set|set-"
     "string|"
     "timeout|type)"},
    {" (?:get|describe|delete|patch) ([a-z]+)(?: |$)",
     "apiservice|clusterpolicy|clusterrole(?:binding)?|configmaps|ds|events|hpa|namespace|"
     "networkpolicy|nodes|pods|prometheusrule|route|scc|servicemonitor"},
    {"(?:^| )([a-z]+)/[^ /]+(?: |$)", "deployment|ds|pod|servicemonitor|svc"},
    {" port-forward ds/[^ ]+ (?:[0-9]+:)?([^ ]+)", "9400|5678"},
    {" port-forward [^ ]+-cluster (?:[0-9]+:)?([^ ]+)", "9401"},
    {" port-forward [^ ]+ (?:[0-9]+:)?([^ ]+)", "9400|9401|8000|5678|9090"},
    {" (?:install|upgrade)(?: --install)? [^ ]+ ([^ ]+)",
     "deploy/helm/podgpu|prometheus-community/.*"},
    {R"re("dcgmExporter":\{"([^"]+)")re", "repository|hostPID|env|enabled"},
    {" -p (.+)$", nullptr, Rule::kJson},
    {" -f ([^ ]+)", nullptr, Rule::kFile},
    {" -n ([^ ]+)", nullptr, Rule::kName},
    {" -l [^ ]+=([^ ]+)", nullptr, Rule::kName},
    {" (?:get|describe|patch) [a-z]+ ([^ -][^ ]*)", nullptr, Rule::kName},
    {"(?:^| )[a-z]+/([^ /]+)(?: |$)", nullptr, Rule::kName},
    {" (?:history|install|rollback|test|uninstall|upgrade) ([^ -][^ ]*)", nullptr, Rule::kName},
};

// All manifests of the tree: their objects are those that documents may name.
std::string Manifests() {
  std::string all;
  for (const char* folder : {"deploy/manifests", "deploy/autoscaling"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      all += entry.path().extension() == ".yaml" ? ReadText(entry.path().string()) : "";
    }
  }
  return all;
}

// Whether a name is a word of `texts` twice or more, which a mistyped one is not.
bool IsNamed(const std::string& name, const std::string& texts) {
  const RE2 word("(?:^|[^a-z0-9.-])" + RE2::QuoteMeta(name) + "(?:$|[^a-z0-9-])");
  re2::StringPiece rest(texts);
  return RE2::FindAndConsume(&rest, word) && RE2::FindAndConsume(&rest, word);
}

bool Holds(const Rule& rule, const std::string& what, const Guide& guide,
           const std::string& texts) {
  std::vector<YamlError> errors;
  switch (rule.kind) {
    case Rule::kPattern:
      return RE2::FullMatch(what, rule.may_be);
    case Rule::kFile:
      return !guide.FileNamed(what).empty() || std::filesystem::exists(what);
    case Rule::kJson:
      return ReadYaml(what, errors).kind == YamlNode::Kind::kMap && errors.empty();
    case Rule::kName:
      return IsNamed(what, texts);
  }
  return false;
}

// What is wrong with a command of kubectl, oc or helm.
std::string FaultOfCommand(const Guide& guide, const std::vector<std::string>& words,
                           const std::string& texts) {
  std::string command;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    command += (i == 0 ? "" : " ") + words[i];
  }
  std::string faults;
  for (const Rule& rule : kRules) {
    const RE2 mention(rule.mention);
    re2::StringPiece rest(command);
    std::string what;
    while (RE2::FindAndConsume(&rest, mention, &what)) {
      faults += Holds(rule, what, guide, texts) ? "" : "unknown " + what + "; ";
    }
  }
  return faults;
}

}  // namespace

bool IsUnrun(const std::vector<std::string>& words) {
  return words.size() > 1 && (words[0] == "kubectl" || words[0] == "oc" || words[0] == "helm" ||
                              (words[0] == "docker" && words[1] == "build"));
}

std::vector<std::string> FaultsOfUnrun(const Guide& guide) {
  std::vector<std::string> faults;
  const std::string texts = guide.text + Manifests();
  std::vector<Command> commands = guide.Commands();
  commands.emplace_back();
  for (size_t i = 0; i + 1 < commands.size(); ++i) {
    const std::vector<std::string> words = Words(commands[i].text);
    if (!IsUnrun(words)) {
      continue;
    }
    std::string fault = words[0] == "docker" ? FaultOfBuild(words, ReadText("Dockerfile"))
                                             : FaultOfCommand(guide, words, texts);
    std::string made;
    const bool makes = RE2::PartialMatch(commands[i].text,
                                         " (?:new-project|create (?:namespace|ns)) ([^ ]+)", &made);
    const std::vector<std::string> label = {words[0], "label", "namespace", made, kLabel};
    if (makes && Words(commands[i + 1].text) != label) {
      fault += "the next command does not set " + std::string(kLabel) + "; ";
    }
    if (!commands[i].shown.empty() && std::ranges::find(words, "--") == words.end()) {
      fault += "no test compares this output: show it with curl; ";
    }
    if (!fault.empty()) {
      faults.push_back(guide.path + ":" + std::to_string(commands[i].line) + ": " +
                       commands[i].text + ": " + fault);
    }
  }
  return faults;
}

std::string FaultOfBuild(const std::vector<std::string>& words, const std::string& dockerfile) {
  std::string faults = words.back() == "." ? "" : "is not `docker build ... .`; ";
  std::string target;
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    const std::string name = words[i + 1].substr(0, words[i + 1].find('='));
    if (words[i] == "--target") {
      target = words[i + 1];
    } else if (words[i] == "--build-arg" && dockerfile.find("\nARG " + name + "=") == name.npos) {
      faults += "the Dockerfile has no argument " + name + "; ";
    }
  }
  const std::string last = dockerfile.substr(dockerfile.rfind("\nFROM "));
  if (!target.empty() && !RE2::PartialMatch(dockerfile, "\nFROM .* AS " + target + "\n")) {
    faults += "the Dockerfile has no stage " + target + "; ";
  } else if (target.empty() && !RE2::PartialMatch(last, "^\nFROM .* AS podgpu\n")) {
    faults += "the Dockerfile's last stage is not podgpu; ";
  }
  return faults;
}

}  // namespace podgpu::guides
