// The node on which a guide's commands run: a simulated one, with podgpu started as the guide says,
// and a Prometheus where the guide asks one.
//
// A guide writes the ports and paths of a real node (:9400, /var/lib/kubelet, ...). The world gives
// each program a free port and the simulated node's paths; curl runs as it is written and is
// connected to these ports. All ends with the object. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"
#include "tests/guides/guide.h"
#include "yaml/yaml_tree.h"

namespace podgpu::guides {

// How a container or a command line starts the program.
struct Program {
  std::string name = "podgpu";  // Its argv[0], which chooses the defaults.
  std::vector<std::string> arguments;
  std::vector<std::string> variables;  // "NAME=value"

  bool operator==(const Program&) const = default;
  bool IsCluster() const { return !arguments.empty() && arguments.front() == "cluster"; }
  // Whether it starts only where Kubernetes' API server is.
  bool ServesAnApiServer() const;
  // Whether it ends by itself: a check, a version, a sub-command that does one thing.
  bool EndsAtOnce() const;
};

// The programs of all containers in a manifest, or in a part of one, that have podgpu's image.
std::vector<Program> ProgramsOf(const YamlNode& manifest);
// The program of a command line such as "podgpu -k" or "docker run ... podgpu -f ..."; nothing for
// another command.
std::optional<Program> ProgramOf(const std::vector<std::string>& words);

class World {
 public:
  World();

  // Starts the program on the node and waits until it serves; the node's own program by default.
  // A second start of the same role replaces the first.
  void Start(const Program& program);
  void StartDefault();
  bool is_running() const { return node_program_ != nullptr; }
  bool has_cluster() const { return cluster_program_ != nullptr; }
  const std::string& node_directory() const { return node_.directory(); }
  // The real port of the program that has `port` in the guide's words.
  int RealPort(int port) const { return ports_.at(port); }

  // Runs a command with a shell until its output has the lines that the guide shows; returns the
  // last output. Without such lines it runs once and must succeed.
  std::string Run(const std::string& guide, const Command& command);

  // Starts a Prometheus that reads the running programs; `config` of a guide, or one with the
  // labels that the Prometheus Operator adds.
  void StartPrometheus(const std::string& config);
  bool has_prometheus() const { return prometheus_ != nullptr; }
  // The answer of an instant query, once it has a series.
  std::string Query(const std::string& query) const;

  // The pages of all running programs.
  std::string Pages() const;

 private:
  std::string Here(std::string text) const;
  std::vector<std::string> NodeVariables() const;
  Program Adapted(const Program& program);
  void Connect(int port, int to);
  std::unique_ptr<Child> Scrape(const std::string& config, const std::string& name, int port) const;
  std::string OperatorConfig() const;
  std::string Shell(const std::string& text) const;

  const TemporaryFolder folder_;
  SimNode node_;
  std::unique_ptr<Child> node_program_, cluster_program_, prometheus_;
  std::unique_ptr<Child> source_;  // The Prometheus that the cluster role reads.
  std::map<int, int> ports_;       // From the port that guides name to the real one.
};

}  // namespace podgpu::guides
