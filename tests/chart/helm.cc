#include "tests/chart/helm.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

std::string NameOf(const YAML::Node& object) {
  return TextAt(object, "kind") + " " + TextAt(object, "metadata/name");
}

// The node at one step of a path: a key of a map, or an index of a list; nothing if there is none.
std::optional<YAML::Node> Step(const YAML::Node& node, std::string_view step) {
  if (node.IsSequence()) {
    const auto index = ParseDecimal(step);
    return index && *index < node.size() ? std::optional(node[static_cast<size_t>(*index)])
                                         : std::nullopt;
  }
  if (!node.IsMap()) {
    return std::nullopt;
  }
  // "~1" is a slash of the key, as in JSON pointers.
  std::string key(step);
  for (size_t at = key.find("~1"); at != std::string::npos; at = key.find("~1")) {
    key.replace(at, 2, "/");
  }
  const YAML::Node& map = node;
  return map[key].IsDefined() ? std::optional(map[key]) : std::nullopt;
}

}  // namespace

std::string ChartFolder() { return "deploy/helm/podgpu"; }
std::string ValueSetFolder() { return "tests/chart/values"; }

std::vector<std::string> ValueSets() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ValueSetFolder())) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

HelmResult RunHelm(const std::vector<std::string>& arguments) {
  const TemporaryFolder
      home;  // Helm writes its caches there, and reads no configuration of this machine.
  std::vector<std::string> words = {PODGPU_HELM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Child helm(words, {"HOME=" + home.path(), "KUBECONFIG=" + home.path() + "/none",
                     "HELM_CACHE_HOME=" + home.path(), "HELM_CONFIG_HOME=" + home.path(),
                     "HELM_DATA_HOME=" + home.path()});
  HelmResult result;
  result.exit_code = helm.Wait();
  result.output = helm.output();
  return result;
}

Rendering::Rendering(const std::vector<std::string>& arguments, const std::string& release) {
  std::vector<std::string> words = {"template",
                                    release,
                                    ChartFolder(),
                                    "-n",
                                    "gpu",
                                    "--api-versions",
                                    "monitoring.coreos.com/v1"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const HelmResult result = RunHelm(words);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  if (result.exit_code != 0) {
    return;
  }
  for (const YAML::Node& object : YAML::LoadAll(result.output)) {
    if (object.IsMap()) {
      objects_.push_back(object);
    }
  }
}

Rendering Rendering::OfSet(const std::string& name) {
  return Rendering({"-f", ValueSetFolder() + "/" + name + ".yaml"});
}

std::vector<std::string> Rendering::Names() const {
  std::vector<std::string> names(objects_.size());
  std::ranges::transform(objects_, names.begin(), NameOf);
  std::ranges::sort(names);
  return names;
}

YAML::Node Rendering::Object(std::string_view kind_and_name) const {
  YAML::Node found(YAML::NodeType::Undefined);
  size_t count = 0;
  for (const YAML::Node& object : objects_) {
    if (NameOf(object) == kind_and_name) {
      found = object;
      ++count;
    }
  }
  return count == 1 ? found : YAML::Node(YAML::NodeType::Undefined);
}

std::string Rendering::Text(std::string_view kind, std::string_view path) const {
  std::string text;
  size_t count = 0;
  for (const YAML::Node& object : objects_) {
    if (TextAt(object, "kind") == kind) {
      text = TextAt(object, path);
      ++count;
    }
  }
  EXPECT_LE(count, 1U) << "several objects of kind " << kind << ": use Object";
  return text;
}

std::string Rendering::Variable(std::string_view name) const {
  for (const YAML::Node& object : objects_) {
    if (TextAt(object, "kind") != "DaemonSet") {
      continue;
    }
    YAML::Node container = object["spec"]["template"]["spec"]["containers"][0];
    for (const YAML::Node& variable : container["env"]) {
      if (TextAt(variable, "name") == name) {
        return TextAt(variable, "value");
      }
    }
  }
  return "";
}

std::string TextAt(const YAML::Node& object, std::string_view path) {
  YAML::Node node;
  if (!object.IsDefined()) {
    return "";
  }
  node.reset(object);
  for (const std::string_view step :
       path.empty() ? std::vector<std::string_view>() : Split(path, '/')) {
    const std::optional<YAML::Node> next = Step(node, step);
    if (!next) {
      return "";
    }
    node.reset(*next);
  }
  if (node.IsNull()) {
    return "";
  }
  if (node.IsScalar()) {
    return node.Scalar();
  }
  YAML::Emitter emitter;
  emitter.SetMapFormat(YAML::Flow);
  emitter.SetSeqFormat(YAML::Flow);
  emitter << node;
  std::string text(emitter.c_str(), emitter.size());
  std::erase(text, '\n');
  return text;
}

}  // namespace podgpu
