// Parses arbitrary text as an engine's address.  Invariants: an accepted address has a kind,
// contains no blanks, has a host or an absolute path, and parses to the same endpoint when it is
// written with its scheme; a refusal is one line of valid text that ends with the accepted forms.
// The version parsed from a build description is a part of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "source/dcgm/connection.h"

namespace {

using podgpu::DcgmEndpoint;

void CheckRefusal(const podgpu::Status& status) {
  const std::string message(status.message());
  PODGPU_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  PODGPU_CHECK(message.starts_with("engine address \""));
  PODGPU_CHECK(message.ends_with("Give host:port, unix:///path, /path or vsock://CID:port"));
  PODGPU_CHECK(podgpu::CleanUtf8(message) == message && message.size() < 500);
  PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string version = podgpu::ParseDcgmVersion(text);
  PODGPU_CHECK(version.empty() || text.find("version:" + version) != std::string_view::npos);
  const podgpu::StatusOr<DcgmEndpoint> endpoint = podgpu::ParseDcgmAddress(text);
  if (!endpoint.ok()) {
    CheckRefusal(endpoint.status());
    return 0;
  }
  const bool is_path = endpoint->kind == DcgmEndpoint::Kind::kUnixSocket;
  const bool is_vsock = endpoint->kind == DcgmEndpoint::Kind::kVsock;
  PODGPU_CHECK(is_path || is_vsock || endpoint->kind == DcgmEndpoint::Kind::kTcp);
  PODGPU_CHECK(is_path == endpoint->address.starts_with('/'));
  PODGPU_CHECK(text.ends_with(endpoint->address));
  PODGPU_CHECK(std::ranges::none_of(endpoint->address,
                                    [](char c) { return static_cast<unsigned char>(c) <= ' '; }));
  const std::string scheme = is_path ? "unix://" : is_vsock ? "vsock://" : "tcp://";
  PODGPU_CHECK(podgpu::ParseDcgmAddress(scheme + endpoint->address) == endpoint);
  return 0;
}
