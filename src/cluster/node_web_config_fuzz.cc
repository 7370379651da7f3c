// Fuzzes the parser of --node-web-config; every file that the input names holds one line.
// Invariants: an error is one clean line that names the file; a header has one line.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cluster/node_web_config.h"

namespace {

// The configuration under one path, a secret under all others.
class ConfigAndSecrets final : public podgpu::Files {
 public:
  explicit ConfigAndSecrets(std::string_view config) : config_(config) {}
  podgpu::StatusOr<std::string> Read(std::string_view path) const override {
    return path == "/c" ? config_ : std::string("secret\n");
  }
  podgpu::StatusOr<std::vector<std::string>> List(std::string_view /*path*/) const override {
    return std::vector<std::string>();
  }
  podgpu::StatusOr<std::string> ReadLink(std::string_view /*path*/) const override {
    return std::string();
  }

 private:
  const std::string config_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ConfigAndSecrets files(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto access = podgpu::ReadNodeWebConfig("/c", files);
  if (access.ok()) {
    PODGPU_CHECK(access->authorization.find_first_of("\r\n") == std::string::npos);
    return 0;
  }
  const std::string line(access.status().message());
  PODGPU_CHECK(line.starts_with("/c:") && line.find('\n') == std::string::npos);
  PODGPU_CHECK(podgpu::CleanUtf8(line) == line);
  return 0;
}
