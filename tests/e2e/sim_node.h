// A simulated node as users start it: `podgpu-sim run` in a temporary folder, ended with the
// object.
//
// The node has an engine process, a kubelet and the vendor's libraries under lib/, all real.  With
// a manual clock the test moves its time with Tick.  One thread per node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/testing/loopback_client.h"
#include "tests/e2e/child.h"

namespace podgpu {

class SimNode {
 public:
  enum class Pace { kManual, kReal };

  // Starts the scenario file `scenario`, with further `flags` of `podgpu-sim run`; ready() tells
  // whether the start succeeded.
  SimNode(const std::string& scenario, Pace pace, const std::vector<std::string>& flags = {});

  // One of the shipped scenarios, by name.
  static std::string Shipped(std::string_view name);

  bool ready() const { return ready_; }
  const std::string& output() const { return process_->output(); }
  pid_t pid() const { return process_->pid(); }
  // Waits until the node prints a line that contains `part`; empty when it ends before.
  std::optional<std::string> AwaitLine(std::string_view part) { return process_->AwaitLine(part); }
  void ReadAvailable() { process_->ReadAvailable(); }
  const std::string& directory() const { return folder_.path(); }
  std::string library(std::string_view name) const {
    return folder_.path() + "/lib/" + std::string(name);
  }
  std::string kubelet_socket() const { return folder_.path() + "/kubelet/kubelet.sock"; }
  std::string engine_socket() const { return folder_.path() + "/engine.sock"; }
  // "127.0.0.1:41234"
  std::string engine_address() const;
  pid_t engine_pid() const;
  // The environment with which a program loads the node's libraries.
  std::vector<std::string> variables() const { return {"PODGPU_SIM_DIR=" + folder_.path()}; }

  // The lines of a file in the node's folder: the variables of a pod, in "api/env" and
  // "kubelet/https/env".
  std::vector<std::string> LinesOf(const std::string& file) const;

  // Runs another command of podgpu-sim on the node, such as {"mig", "--gpu=1", "off"}.
  void Command(std::vector<std::string> words) const;
  // Moves a manual clock, for example by "+1s".
  void Tick(const std::string& step) const { Command({"tick", step}); }

 private:
  TemporaryFolder folder_;
  std::optional<Child> process_;
  bool ready_ = false;
};

// podgpu, started on `node` with the flags of a Kubernetes node, on a free port.
class ExporterProcess {
 public:
  ExporterProcess(const SimNode& node, const std::vector<std::string>& flags = {},
                  const std::vector<std::string>& more_variables = {});
  // Its command line, the program first.
  static std::vector<std::string> Arguments(const SimNode& node,
                                            const std::vector<std::string>& flags);

  bool ready() const { return port_ != 0; }
  uint16_t port() const { return port_; }
  std::string root() const;  // "http://127.0.0.1:12345"
  Child& process() { return *process_; }

  // The body of a path, "" when there is no answer; with flags, through curl.
  std::string Get(const std::string& path) const { return Fetch(path).body; }
  std::string Get(const std::string& path, const std::vector<std::string>& curl_flags) const;
  // Status and body of a path; status 0 when there is no answer.
  LoopbackResponse Fetch(const std::string& path) const;

  // Fetches `path` until `holds` returns true for its body; false when the program ends before, or
  // after a time that is too long for any machine.
  bool AwaitPage(const std::string& path,
                 const std::function<bool(const std::string&)>& holds) const;
  // The same for a body that contains `part`, or lacks it.
  bool Await(const std::string& path, std::string_view part) const;
  bool AwaitWithout(const std::string& path, std::string_view part) const;

 private:
  std::optional<Child> process_;
  uint16_t port_ = 0;
};

// The port that podgpu reports; 0 when it ends before.
uint16_t ServedPort(Child& process);

}  // namespace podgpu
