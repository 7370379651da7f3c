// The names that libdcgm of a generation exports, as sim/dcgm/names.txt lists them, for tests.
//
// The libraries export what their sources define, so the list is independent of them.  The current
// folder of a test is the root of the repository.
#pragma once

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace podgpu::sim {

inline std::set<std::string> DcgmNames(int major) {
  std::set<std::string> names;
  std::ifstream file("sim/dcgm/names.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    int only = major;
    words >> only;
    if (name != "#" && (only == major || words.fail())) {
      names.insert(name);
    }
  }
  return names;
}

}  // namespace podgpu::sim
