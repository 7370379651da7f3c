// Helm on the chart deploy/helm/podgpu: what it prints for values, and the objects in that.
//
// Helm is the program that ./dev chart builds (build/helm/helm). Each call starts one process and
// waits for its end; no cluster and no network is used, except where a test names a server. One
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yaml-cpp/yaml.h"

namespace podgpu {

// The folder of the chart, and the folder of the value sets (NAME.yaml).
std::string ChartFolder();
std::string ValueSetFolder();

// The names of all value sets, in alphabetical order.
std::vector<std::string> ValueSets();

// How a call of Helm ended, and all that it printed.
struct HelmResult {
  int exit_code = -1;
  std::string output;
};
HelmResult RunHelm(const std::vector<std::string>& arguments);

// The arguments of the first container, below an object with a pod template.
inline constexpr char kArguments[] = "spec/template/spec/containers/0/args";

// The objects that `helm template RELEASE chart` prints.
class Rendering {
 public:
  // `arguments` follow the chart: "-f", a file, "--set", "key=value". The release is "podgpu" in
  // namespace "gpu" of a cluster that has the kinds of the Prometheus operator. A refusal of Helm
  // leaves no objects and fails the test.
  explicit Rendering(const std::vector<std::string>& arguments = {},
                     const std::string& release = "podgpu");

  // A rendering of the value set of this name.
  static Rendering OfSet(const std::string& name);

  const std::vector<YAML::Node>& objects() const { return objects_; }

  // "Kind name" of every object, sorted.
  std::vector<std::string> Names() const;

  // The object "Kind name"; undefined if there is none, or more than one.
  YAML::Node Object(std::string_view kind_and_name) const;

  // The text at a path of the only object of a kind, such as
  // "spec/template/spec/containers/0/image": a scalar as it is, a list or map in JSON's form on one
  // line, "" if there is nothing.
  std::string Text(std::string_view kind, std::string_view path) const;

  // The value of a variable of the DaemonSet's container "exporter"; "" if it is not set.
  std::string Variable(std::string_view name) const;

 private:
  std::vector<YAML::Node> objects_;
};

// The text at a path of one object, as Rendering::Text.
std::string TextAt(const YAML::Node& object, std::string_view path);

}  // namespace podgpu
