// The folder of a web configuration that a test can change like Kubernetes and editors do: each new
// file atomically replaces the old one.
//
// For tests only; one thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/testing/temporary_folder.h"

namespace podgpu {

class WebConfigFiles {
 public:
  std::string path(std::string_view name = "web.yaml") const { return (folder_ / name).string(); }

  void Write(std::string_view text, std::string_view name = "web.yaml") const {
    std::filesystem::rename(folder_.Write("next", text), path(name));
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace podgpu
