#include "tests/guides/cluster_model.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/text.h"

namespace podgpu::guides {
namespace {

// Short names of kinds, and their plurals where those are in use.
const std::map<std::string, std::string, std::less<>>& Kinds() {
  static const std::map<std::string, std::string, std::less<>> kKinds = {
      {"ds", "daemonset"},
      {"daemonset", "daemonset"},
      {"deploy", "deployment"},
      {"deployment", "deployment"},
      {"svc", "service"},
      {"service", "service"},
      {"cm", "configmap"},
      {"configmaps", "configmap"},
      {"apiservice", "apiservice"},
      {"configmap", "configmap"},
      {"sa", "serviceaccount"},
      {"serviceaccount", "serviceaccount"},
      {"secret", "secret"},
      {"ns", "namespace"},
      {"namespace", "namespace"},
      {"pods", "pod"},
      {"pod", "pod"},
      {"node", "node"},
      {"nodes", "node"},
      {"events", "event"},
      {"hpa", "horizontalpodautoscaler"},
      {"crd", "customresourcedefinition"},
      {"route", "route"},
      {"networkpolicy", "networkpolicy"},
      {"scc", "securitycontextconstraints"},
      {"servicemonitor", "servicemonitor"},
      {"podmonitor", "podmonitor"},
      {"prometheusrule", "prometheusrule"},
      {"clusterpolicy", "clusterpolicy"},
      {"clusterrole", "clusterrole"},
      {"clusterrolebinding", "clusterrolebinding"}};
  return kKinds;
}

// Objects of other programs that guides name: those that run before, and those of the platform.
const std::set<std::string>& ForeignObjects() {
  static const std::set<std::string> kForeign = {
      "clusterpolicy/cluster-policy",
      "daemonset/nvidia-dcgm-exporter",
      "deployment/pod-gpu-exporter",
      "service/prometheus-operated",
      "securitycontextconstraints/my-gpu-exporter-scc",
      "clusterrole/my-gpu-exporter-scc-role",
      "clusterrole/my-gpu-exporter-pod-reader",
      "clusterrolebinding/my-gpu-exporter-scc-rolebinding",
      "clusterrolebinding/my-gpu-exporter-pod-reader-binding",
      "customresourcedefinition/servicemonitors.monitoring.coreos.com"};
  return kForeign;
}

// Flags with a value, and those without.
const std::map<std::string, bool, std::less<>>& KubectlFlags() {
  static const std::map<std::string, bool, std::less<>> kFlags = {
      {"-n", true},           {"--namespace", true}, {"-f", true},
      {"-l", true},           {"-o", true},          {"--type", true},
      {"-p", true},           {"-c", true},          {"--timeout", true},
      {"--for", true},        {"--raw", true},       {"--as", true},
      {"--tail", true},       {"-A", false},         {"-w", false},
      {"--overwrite", false}, {"--force", false},    {"--ignore-not-found", false}};
  return kFlags;
}
const std::map<std::string, bool, std::less<>>& HelmFlags() {
  static const std::map<std::string, bool, std::less<>> kFlags = {
      {"-n", true},
      {"-f", true},
      {"--set", true},
      {"--set-string", true},
      {"--timeout", true},
      {"--wait", false},
      {"--install", false},
      {"--create-namespace", false},
      {"--reuse-values", false},
      {"--reset-then-reuse-values", false}};
  return kFlags;
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Splits "-n name", "--for=x" and words; `why` gets the first unknown flag.
CommandLine Parse(const std::vector<std::string>& words,
                  const std::map<std::string, bool, std::less<>>& known, std::string& why) {
  CommandLine line;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") {
      line.after_dashes.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (!words[i].starts_with('-')) {
      line.words.push_back(words[i]);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const auto flag = known.find(name);
    if (flag == known.end()) {
      why = "unknown flag " + name;
    } else if (!flag->second || equals != std::string::npos) {
      line.flags.emplace(name, equals == std::string::npos ? "" : words[i].substr(equals + 1));
    } else {
      line.flags.emplace(name, i + 1 < words.size() ? words[++i] : "");
    }
  }
  return line;
}

std::string NamespaceOf(const CommandLine& line) {
  const std::string short_form = line.Flag("-n");
  return short_form.empty() ? line.Flag("--namespace") : short_form;
}

const YamlNode& PodTemplate(const Object& object) {
  return At(At(object.content, "spec"), "template");
}

bool HasPort(const Object& object, const std::string& port) {
  if (object.kind == "service") {
    return std::ranges::any_of(At(At(object.content, "spec"), "ports").items,
                               [&](const YamlNode& one) { return At(one, "port").text == port; });
  }
  const std::vector<YamlNode>& containers = At(At(PodTemplate(object), "spec"), "containers").items;
  return std::ranges::any_of(containers, [&](const YamlNode& container) {
    return std::ranges::any_of(At(container, "ports").items, [&](const YamlNode& one) {
      return At(one, "containerPort").text == port;
    });
  });
}

}  // namespace

std::string CommandLine::Flag(const std::string& name) const {
  const auto found = flags.find(name);
  return found == flags.end() ? "" : found->second;
}

ClusterModel::ClusterModel(const Guide& guide, Renderer render)
    : guide_(guide), render_(std::move(render)) {
  for (const Command& command : guide.Commands()) {
    const std::vector<std::string> words = Words(command.text);
    if (render_ == nullptr && !words.empty() && words.front() == "helm") {
      knows_names_ = false;
    }
  }
}

bool ClusterModel::Knows(std::string_view program) {
  return program == "kubectl" || program == "oc" || program == "helm";
}

std::vector<std::string> ClusterModel::Check(const Command& command) {
  command_ = &command;
  const std::vector<std::string> words = Words(command.text);
  const bool is_helm = words.front() == "helm";
  std::string why;
  const CommandLine line = Parse(words, is_helm ? HelmFlags() : KubectlFlags(), why);
  if (!why.empty()) {
    Fail(why);
  }
  if (line.words.empty()) {
    Fail("no verb");
  } else if (is_helm) {
    Helm(line);
  } else {
    Kubectl(line);
  }
  if (line.after_dashes.empty() && !command.shown.empty()) {
    Fail("the output of this command cannot be tested: show it with curl");
  }
  return line.after_dashes;
}

void ClusterModel::Fail(const std::string& why) const {
  ADD_FAILURE() << guide_.path << ":" << command_->line << ": " << command_->text << ": " << why;
}

void ClusterModel::Helm(const CommandLine& line) {
  const std::string& verb = line.words[0];
  const std::string release = line.Word(1);
  if (verb == "install" || verb == "upgrade") {
    Install(line);
    return;
  }
  if (verb == "repo" && line.Word(1) == "add" && line.Word(3).starts_with("https://")) {
    repositories_.insert(line.Word(2));
    return;
  }
  constexpr std::array<std::string_view, 4> kOfARelease = {"uninstall", "rollback", "history",
                                                           "test"};
  if (std::ranges::find(kOfARelease, verb) == kOfARelease.end()) {
    Fail("the test does not know this command");
    return;
  }
  const bool is_there = std::ranges::any_of(
      objects_, [&](const Object& object) { return object.release == release; });
  if (knows_names_ && !is_there) {
    Fail("no release " + release);
  }
  if (verb == "uninstall") {
    std::erase_if(objects_, [&](const Object& object) { return object.release == release; });
  }
}

// The flags of `line` that give values to a chart, with files of their own.
std::vector<std::string> ClusterModel::Values(const CommandLine& line) const {
  std::vector<std::string> values;
  for (const char* name : {"-f", "--set", "--set-string"}) {
    const auto [begin, end] = line.flags.equal_range(name);
    for (auto flag = begin; flag != end; ++flag) {
      const bool is_file = flag->first == "-f";
      const std::string text = is_file ? FileText(flag->second) : "";
      if (is_file && text.empty()) {
        Fail("no file " + flag->second);
      }
      const std::string copy = "values-" + std::to_string(values.size()) + ".yaml";
      values.push_back(flag->first);
      values.push_back(is_file ? files_.Write(copy, text) : flag->second);
    }
  }
  return values;
}

void ClusterModel::Install(const CommandLine& line) {
  const std::string release = line.Word(1);
  const std::string chart = line.Word(2);
  if (repositories_.contains(chart.substr(0, chart.find('/')))) {
    return;  // Another project's chart, of which nothing is known here.
  }
  const std::string name_space = NamespaceOf(line);
  if (line.words.size() != 3 || name_space.empty()) {
    Fail("needs a release, a chart and -n");
    return;
  }
  if (line.words[0] == "install" && !line.flags.contains("--create-namespace")) {
    Find("namespace", name_space, line);
  }
  if (render_ != nullptr) {
    std::vector<std::string> arguments = {"template", release, chart, "--namespace", name_space};
    std::ranges::move(Values(line), std::back_inserter(arguments));
    std::erase_if(objects_, [&](const Object& object) { return object.release == release; });
    Add(render_(arguments), name_space, release);
    objects_.push_back({"namespace", name_space, "", "", {}});
  }
}

void ClusterModel::Kubectl(const CommandLine& line) {
  const std::string& verb = line.words[0];
  if (verb == "apply" || verb == "delete" || verb == "replace" ||
      (verb == "create" && line.flags.contains("-f"))) {
    Files(line, verb != "delete");
  } else if (verb == "new-project" || (verb == "create" && !line.flags.contains("-f"))) {
    Create(line);
  } else if (verb == "get" || verb == "describe" || verb == "wait") {
    Look(line);
  } else if (verb == "exec" || verb == "logs" || verb == "port-forward" || verb == "rollout") {
    Reach(line);
  } else if (verb == "patch") {
    CheckPatch(line);
  } else if (verb == "label") {
    const bool has_label = line.words.size() > 3 && line.words[3].find('=') != std::string::npos;
    const std::string kind = line.Word(1);
    if (!has_label || (kind != "namespace" && kind != "node" && kind != "nodes")) {
      Fail("expected: label namespace NAME KEY=VALUE");
    } else if (kind == "namespace") {
      Find("namespace", line.Word(2), line);
    }
  } else if (verb == "auth") {
    Ask(line);
  } else {
    Fail("the test does not know this command");
  }
}

void ClusterModel::Files(const CommandLine& line, bool adds) {
  const auto [begin, end] = line.flags.equal_range("-f");
  if (begin == end && !adds) {
    Look(line);  // delete KIND NAME
    return;
  }
  for (auto flag = begin; flag != end; ++flag) {
    const std::string text = FileText(flag->second);
    if (text.empty()) {
      Fail("no file " + flag->second);
    } else if (adds) {
      const std::string name_space = NamespaceOf(line);
      Add(text, name_space, "");
    }
  }
}

void ClusterModel::Create(const CommandLine& line) {
  const bool is_project = line.words[0] == "new-project";
  const std::string kind = is_project ? "namespace" : line.Word(1);
  const std::string name = line.Word(is_project ? 1 : 2);
  if ((kind != "namespace" && kind != "ns") || name.empty()) {
    Fail("the test knows `create namespace NAME` only");
  } else {
    objects_.push_back({"namespace", name, "", "", {}});
  }
}

void ClusterModel::Look(const CommandLine& line) const {
  if (line.words.size() == 1 && !line.Flag("--raw").empty()) {
    return;
  }
  for (size_t i = 1; i < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    const size_t slash = word.find('/');
    if (i > 1 && slash == std::string::npos) {
      Find(line.words[1], word, line);
    } else if (slash != std::string::npos) {
      Find(word.substr(0, slash), word.substr(slash + 1), line);
    } else if (!Kinds().contains(word)) {
      Fail("unknown kind " + word);
    }
  }
  if (!line.Flag("-l").empty() && !line.Word(1).starts_with("node")) {
    CheckSelector(line.Flag("-l"));
  }
}

// auth can-i VERB RESOURCE --as=system:serviceaccount:NAMESPACE:NAME
void ClusterModel::Ask(const CommandLine& line) const {
  const std::string user = line.Flag("--as");
  const std::vector<std::string_view> account = Split(user, ':');
  if (line.words.size() != 4 || line.words[1] != "can-i" || account.size() != 4) {
    Fail("expected: auth can-i VERB RESOURCE --as=system:serviceaccount:NAMESPACE:NAME");
    return;
  }
  CommandLine there;
  there.flags.emplace("-n", account[2]);
  Find("serviceaccount", std::string(account[3]), there);
}

void ClusterModel::Reach(const CommandLine& line) const {
  const bool is_rollout = line.words[0] == "rollout";
  const std::string target = line.Word(is_rollout ? 2 : 1);
  const size_t slash = target.find('/');
  if (slash == std::string::npos) {
    Fail("expected KIND/NAME");
    return;
  }
  const Object* object = Find(target.substr(0, slash), target.substr(slash + 1), line);
  if (is_rollout && line.words[1] != "status" && line.words[1] != "undo" &&
      line.words[1] != "restart") {
    Fail("unknown: rollout " + line.words[1]);
  }
  if (line.words[0] == "port-forward") {
    for (size_t i = 2; i < line.words.size() && object != nullptr; ++i) {
      CheckPort(*object, line.words[i].substr(line.words[i].find(':') + 1));
    }
  }
}

void ClusterModel::CheckPort(const Object& object, const std::string& port) const {
  if (!HasPort(object, port)) {
    Fail(object.kind + "/" + object.name + " has no port " + port);
  }
}

// Each label of "a=b,c=d" must be one of an object, or of the template of a workload.
void ClusterModel::CheckSelector(const std::string& selector) const {
  const auto selects = [&](const YamlNode& object) {
    const YamlNode& labels = At(At(object, "metadata"), "labels");
    return std::ranges::all_of(Split(selector, ','), [&](std::string_view label) {
      const size_t equals = label.find('=');
      return At(labels, label.substr(0, equals)).text == label.substr(equals + 1);
    });
  };
  const bool matches = std::ranges::any_of(objects_, [&](const Object& object) {
    return selects(object.content) || selects(PodTemplate(object));
  });
  if (knows_names_ && !matches) {
    Fail("no object has the labels " + selector);
  }
}

// A merge patch of the ClusterPolicy of the GPU Operator: a key that its dcgmExporter has.
void ClusterModel::CheckPatch(const CommandLine& line) const {
  constexpr std::array<std::string_view, 10> kKeys = {
      "repository", "image",     "version", "hostPID", "env",
      "args",       "resources", "config",  "enabled", "serviceMonitor"};
  Find(line.Word(1), line.Word(2), line);
  const std::vector<YamlNode> patch = Documents(line.Flag("-p"), guide_.path);
  if (patch.size() != 1 || line.Flag("--type") != "merge") {
    Fail("expected one merge patch");
    return;
  }
  const YamlNode& values = At(At(patch[0], "spec"), "dcgmExporter");
  if (values.keys.empty()) {
    Fail("no spec.dcgmExporter");
  }
  for (const YamlNode& key : values.keys) {
    if (std::ranges::find(kKeys, key.text) == kKeys.end()) {
      Fail("the ClusterPolicy has no dcgmExporter." + key.text);
    }
  }
}

const Object* ClusterModel::Find(const std::string& kind, const std::string& name,
                                 const CommandLine& line) const {
  const auto known = Kinds().find(Lower(kind));
  if (known == Kinds().end()) {
    Fail("unknown kind " + kind);
    return nullptr;
  }
  const std::string& full = known->second;
  const auto found = std::ranges::find_if(objects_, [&](const Object& object) {
    return object.kind == full && object.name == name &&
           (object.name_space.empty() || object.name_space == NamespaceOf(line));
  });
  if (found != objects_.end()) {
    return &*found;
  }
  if (knows_names_ && !ForeignObjects().contains(full + "/" + name)) {
    Fail("no " + full + " " + name + " in the namespace \"" + NamespaceOf(line) + "\"");
  }
  return nullptr;
}

void ClusterModel::Add(const std::string& text, const std::string& name_space,
                       const std::string& release) {
  constexpr std::array<std::string_view, 6> kOfTheCluster = {
      "namespace",     "clusterrole", "clusterrolebinding", "securitycontextconstraints",
      "clusterpolicy", "apiservice"};
  for (YamlNode& document : Documents(text, guide_.path)) {
    const YamlNode& metadata = At(document, "metadata");
    const std::string kind = Lower(At(document, "kind").text);
    std::string own = At(metadata, "namespace").text;
    if (kind.empty() || At(metadata, "name").text.empty()) {
      Fail("an object without kind or name");
    }
    if (std::ranges::find(kOfTheCluster, kind) != kOfTheCluster.end()) {
      own.clear();
    } else if (own.empty()) {
      own = name_space;
    } else if (!name_space.empty() && own != name_space && release.empty()) {
      Fail(kind + " is in the namespace " + own);
    }
    objects_.push_back({kind, At(metadata, "name").text, own, release, std::move(document)});
  }
}

std::string ClusterModel::FileText(const std::string& path) const {
  std::string text = guide_.FileNamed(path);
  if (!text.empty()) {
    return text;
  }
  namespace fs = std::filesystem;
  const fs::path source = path;
  std::vector<fs::path> files;
  if (fs::is_directory(source)) {
    for (const auto& entry : fs::directory_iterator(source)) {
      files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else if (fs::exists(source)) {
    files.push_back(source);
  }
  for (const fs::path& file : files) {
    if (file.extension() == ".yaml" || file.extension() == ".yml") {
      std::ifstream stream(file, std::ios::binary);
      text += "---\n" + std::string(std::istreambuf_iterator<char>(stream), {});
    }
  }
  return text;
}

}  // namespace podgpu::guides
