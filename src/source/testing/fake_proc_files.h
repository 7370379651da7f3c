// A fake /proc in which every pid exists: a process named "p" and its pid, in no container.  All
// processes have the same start time.  No state; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace podgpu {

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
