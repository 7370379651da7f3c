// A simulated node as users start one: `podgpu-sim run` in a folder of its own, ended with the
// object.
//
// The node has an engine process, a kubelet and the vendor's libraries under lib/, all real.  On a
// manual clock the test moves its time with Tick.  One thread per node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/child.h"

namespace podgpu {

class SimNode {
 public:
  enum class Pace { kManual, kReal };

  // Starts the scenario file `scenario`; ready() says whether it came up.
  SimNode(const std::string& scenario, Pace pace);

  // One of the shipped scenarios, by name.
  static std::string Shipped(std::string_view name);

  bool ready() const { return ready_; }
  const std::string& output() const { return process_->output(); }
  const std::string& directory() const { return folder_.path(); }
  std::string library(std::string_view name) const {
    return folder_.path() + "/lib/" + std::string(name);
  }
  std::string kubelet_socket() const { return folder_.path() + "/kubelet/kubelet.sock"; }
  std::string engine_socket() const { return folder_.path() + "/engine.sock"; }
  // "127.0.0.1:41234"
  std::string engine_address() const;
  pid_t engine_pid() const;
  // What a program needs in its environment to load the node's libraries.
  std::vector<std::string> variables() const { return {"PODGPU_SIM_DIR=" + folder_.path()}; }

  // Moves a manual clock, as "+1s".
  void Tick(const std::string& step) const;

 private:
  TemporaryFolder folder_;
  std::optional<Child> process_;
  bool ready_ = false;
};

// podgpu, started on `node` with the flags that a Kubernetes node has, on a port of its own choice.
class ExporterProcess {
 public:
  ExporterProcess(const SimNode& node, std::vector<std::string> flags = {});

  bool ready() const { return !root_.empty(); }
  const std::string& root() const { return root_; }  // "http://127.0.0.1:12345"
  Child& process() { return *process_; }

  // The body of a path, by curl; "" when it fails.
  std::string Get(const std::string& path, const std::vector<std::string>& curl_flags = {}) const;

  // Fetches `path` until the body contains `part`; false when the program ends before.
  bool Await(const std::string& path, std::string_view part) const;

 private:
  std::optional<Child> process_;
  std::string root_;
};

}  // namespace podgpu
