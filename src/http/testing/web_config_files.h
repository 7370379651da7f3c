// The folder of a web configuration that a test can change like Kubernetes and editors do: each new
// file atomically replaces the old one.
//
// For tests only; one thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace podgpu {

class WebConfigFiles {
 public:
  WebConfigFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "podgpu-web-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  WebConfigFiles(const WebConfigFiles&) = delete;
  WebConfigFiles& operator=(const WebConfigFiles&) = delete;
  ~WebConfigFiles() { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name = "web.yaml") const { return (folder_ / name).string(); }

  void Write(std::string_view text, std::string_view name = "web.yaml") const {
    const std::filesystem::path next = folder_ / "next";
    std::ofstream(next) << text;
    std::filesystem::rename(next, path(name));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace podgpu
