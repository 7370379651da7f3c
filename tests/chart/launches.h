// The command lines of podgpu in rendered objects, as the program deploycheck writes them.
//
// Plain data, read from launches.json; files that a container mounts from ConfigMaps and Secrets
// are on this machine, and the arguments name them there.
#pragma once

#include <string>
#include <vector>

#include "sim/kube/api_request.h"

namespace podgpu {

struct Launch {
  std::string file, object, name_space, container;
  bool is_init = false;
  std::string role;  // "node", "cluster" or "doctor".
  std::vector<std::string> arguments;
  std::vector<std::string> variables;  // "NAME=value"
  std::vector<std::string> probes;     // Paths on the container's own ports.
  bool has_token = false;
  std::vector<sim::ApiGrant> grants;

  // Whether an argument or a variable begins with `begin`.
  bool Says(std::string_view begin) const;
};

// All launches in the file; a failed check of the test when it cannot be read.
std::vector<Launch> ReadLaunches(const std::string& path);

}  // namespace podgpu
