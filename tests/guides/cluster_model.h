// The objects that a guide has created so far, and whether its kubectl, oc and helm commands fit
// them.
//
// No cluster exists here. The model holds what `kubectl apply` and `helm install` of the guide
// would create, and checks the other commands by verb, kind, name, namespace, port and arguments. A
// command that it does not know fails the running test, and so does a name that no object has.
// One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/child.h"
#include "tests/guides/guide.h"
#include "yaml/yaml_tree.h"

namespace podgpu::guides {

struct Object {
  std::string kind, name, name_space, release;  // The kind in lower case.
  YamlNode content;
};

// A command line: its words that are no flags, the values of its flags, and what follows "--".
struct CommandLine {
  std::vector<std::string> words;
  std::multimap<std::string, std::string> flags;
  std::vector<std::string> after_dashes;

  std::string Flag(const std::string& name) const;
  std::string Word(size_t index) const { return index < words.size() ? words[index] : ""; }
};

class ClusterModel {
 public:
  // Renders a chart: takes the arguments of `helm template`, returns its objects as YAML text.
  // Without a renderer the names in guides that use helm are not checked, only the commands.
  using Renderer = std::function<std::string(const std::vector<std::string>& arguments)>;
  ClusterModel(const Guide& guide, Renderer render);

  // Whether this program is one of those that the model checks.
  static bool Knows(std::string_view program);

  // Checks one command; fails the running test with its place. Returns the words after "--" of an
  // `exec`: a command that runs in the container.
  std::vector<std::string> Check(const Command& command);

  const std::vector<Object>& objects() const { return objects_; }
  // From now on names are not checked: the objects are those of another document.
  void ForgetNames() { knows_names_ = false; }

 private:
  void Fail(const std::string& why) const;
  void Helm(const CommandLine& line);
  void Install(const CommandLine& line);
  std::vector<std::string> Values(const CommandLine& line) const;
  void Kubectl(const CommandLine& line);
  void Look(const CommandLine& line) const;
  void Create(const CommandLine& line);
  void Files(const CommandLine& line, bool adds);
  void Ask(const CommandLine& line) const;
  void Reach(const CommandLine& line) const;
  void CheckPort(const Object& object, const std::string& port) const;
  void CheckSelector(const std::string& selector) const;
  void CheckPatch(const CommandLine& line) const;
  const Object* Find(const std::string& kind, const std::string& name,
                     const CommandLine& line) const;
  void Add(const std::string& text, const std::string& name_space, const std::string& release);
  std::string FileText(const std::string& path) const;

  const Guide& guide_;
  const Renderer render_;
  bool knows_names_ = true;
  const Command* command_ = nullptr;  // The one being checked.
  std::vector<Object> objects_;
  // Charts of other projects: the repositories that documents name, and those of `helm repo add`.
  std::set<std::string> repositories_ = {"prometheus-community"};
  const TemporaryFolder files_;
};

}  // namespace podgpu::guides
