// A /proc for tests: whatever pid is asked for, there is such a process, in no container, called p
// and its pid.  All were born at the same time.  Stateless; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace podgpu {

// A /proc in which every pid is a process of its own name.
class FakeProcFiles final : public Files {
 public:
  StatusOr<std::string> Read(std::string_view path) const override {
    if (path == "/proc/stat") {
      return "btime 1699990000\n";
    }
    const std::string_view rest = path.substr(std::string_view("/proc/").size());
    const std::string id(rest.substr(0, rest.find('/')));
    if (path.ends_with("/stat")) {
      return id + " (p" + id + ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n";
    }
    return path.ends_with("/status") ? "Name:\tp" + id + "\nNSpid:\t" + id + "\n" : "0::/\n";
  }
  StatusOr<std::vector<std::string>> List(std::string_view path) const override {
    return absl::NotFoundError(std::string(path));
  }
  StatusOr<std::string> ReadLink(std::string_view path) const override {
    return absl::NotFoundError(std::string(path));
  }
};

}  // namespace podgpu
