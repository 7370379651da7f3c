// Who calls: the user of a request, with the groups and other attributes that the Kubernetes API
// knows of a user.
//
// Plain data without any judgement about what the user may do; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace podgpu {

struct Identity {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool operator==(const Identity&) const = default;
};

// Members of this group may do everything, also while the API server does not answer.
inline constexpr char kMasters[] = "system:masters";
inline constexpr char kAnonymous[] = "system:anonymous";

}  // namespace podgpu
