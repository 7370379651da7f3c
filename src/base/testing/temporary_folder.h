// An empty folder for one test, removed with all that is in it when the object ends.
//
// Owned by the test or its fixture.  One thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace podgpu {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // Short, since the path of a unix socket has at most 107 bytes.
    std::string pattern = "/tmp/podgpu-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  // Writes a file into the folder and returns its path.
  std::string Write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ + "/" + name) << content;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace podgpu
