// The node on which a document's commands run: a simulated one, with podgpu started as the document
// says, and a Prometheus where the document asks one.
//
// A document writes the ports and paths of a real node (:9400, /var/lib/kubelet, ...). The world
// gives each program a free port and the simulated node's paths; curl runs as it is written and is
// connected to these ports. All ends with the object. One thread.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"
#include "yaml/yaml_tree.h"

namespace podgpu::guides {

// How a container or a command line starts the program.
struct Program {
  std::string name = "podgpu";  // Its argv[0], which chooses the defaults.
  std::vector<std::string> arguments;
  std::vector<std::string> variables;  // "NAME=value"

  bool IsCluster() const { return !arguments.empty() && arguments.front() == "cluster"; }
  // Whether an argument begins with one of `begins`.
  bool Says(std::initializer_list<std::string_view> begins) const;
  // Whether it ends by itself: a check, a version, a sub-command that does one thing.
  bool EndsAtOnce() const;
};

// The programs of all containers in a part of a manifest that have podgpu's image.
std::vector<Program> ProgramsOf(const YamlNode& manifest);
// The program of a command line such as "podgpu -k" or "docker run ... podgpu -f ..."; nothing for
// another command.
std::optional<Program> ProgramOf(const std::vector<std::string>& words);

class World {
 public:
  World();

  // Starts the program on the node and waits until it serves. A second start of the same role
  // replaces the first.
  void Start(const Program& program);
  // Starts what a command needs, where none runs: a node's program with pods and control, and the
  // cluster role for its port. The other functions do this for what they need.
  void StartFor(const std::string& text);
  // The real port of the program that has `port` in the documents' words.
  int RealPort(int port) const { return ports_.at(port); }

  // Runs a command with a shell until its output has the lines that the document shows. Without
  // such lines it runs until it succeeds. Only curl runs more than once.
  void Run(const std::string& text, const std::vector<std::string>& shown);

  // Starts a Prometheus that reads the running programs, with the configuration of a document or
  // with the labels that the Prometheus Operator adds.
  void StartPrometheus(const std::string& config);
  bool has_prometheus() const { return prometheus_ != nullptr; }

 private:
  std::string Here(std::string text) const;
  std::vector<std::string> NodeVariables() const;
  Program Adapted(const Program& program);
  std::string Connect(int port, int to);
  std::unique_ptr<Child> Scrape(const std::string& config, const std::string& name, int port) const;
  std::string OperatorConfig() const;

  const TemporaryFolder folder_;
  SimNode node_;
  std::unique_ptr<Child> node_program_, cluster_program_, prometheus_;
  std::unique_ptr<Child> source_;  // The Prometheus that the cluster role reads.
  std::map<int, int> ports_;       // From the port that documents name to the real one.
};

}  // namespace podgpu::guides
