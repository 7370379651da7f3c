// A simulated node that the doctor looks at, with a kernel of its own in a folder (doctor_at.cc).
//
// One thread per object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/child.h"
#include "tests/e2e/sim_node.h"

namespace podgpu {

// What the doctor printed, and its exit code.
struct DoctorRun {
  std::string text;
  int exit_code = 0;
};

class DoctorNode {
 public:
  // Starts a shipped scenario with further flags of podgpu-sim, and moves its clock by each of
  // `steps`, such as "10s".
  DoctorNode(std::string_view scenario, const std::vector<std::string>& steps,
             const std::vector<std::string>& sim_flags = {});

  bool ready() const { return node_.ready(); }
  SimNode& node() { return node_; }
  // The folder of the kernel; a test may change its files.
  const TemporaryFolder& kernel() const { return kernel_; }
  // The flags of an exporter on this node.
  std::vector<std::string> Flags() const;
  // A /proc with the pids of the pod alone.
  std::string own_proc() const { return kernel_.path() + "/own-proc"; }
  // Runs the doctor with these flags and more; volatile values are replaced by names.
  DoctorRun Run(const std::vector<std::string>& more_flags = {},
                const std::vector<std::string>& variables = {}) const;
  // Runs it with these flags alone.
  DoctorRun RunWith(const std::vector<std::string>& flags,
                    const std::vector<std::string>& variables = {}) const;

 private:
  SimNode node_;
  TemporaryFolder kernel_;
};

// Replaces what differs from run to run: times, temporary folders, ports, the number of calls.
std::string WithoutVolatile(std::string text);

}  // namespace podgpu
