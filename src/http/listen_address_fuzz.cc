// An address to listen on, as a user writes it. Invariants: an accepted address is an absolute
// path, or a port and a host of visible ASCII without brackets, and means the same after printing
// and parsing it again; an error is one line of valid text with the valid forms.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "http/listen.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const podgpu::StatusOr<podgpu::ListenAddress> address = podgpu::ParseListenAddress(text);
  if (!address.ok()) {
    const std::string message(address.status().message());
    PODGPU_CHECK(address.status().code() == absl::StatusCode::kInvalidArgument);
    PODGPU_CHECK(
        message.ends_with("Write HOST:PORT, [V6]:PORT, :PORT or unix:/PATH, such as :9400"));
    PODGPU_CHECK(podgpu::CleanUtf8(message) == message && message.size() < 500);
    PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
    return 0;
  }
  PODGPU_CHECK(std::ranges::all_of(
      address->host, [](char c) { return c > ' ' && c < 0x7F && c != '[' && c != ']'; }));
  if (!address->path.empty()) {
    PODGPU_CHECK(address->path[0] == '/' && text.ends_with(address->path));
    PODGPU_CHECK(address->host.empty() && address->port == 0);
  }
  PODGPU_CHECK(text.find(address->host) != std::string_view::npos);
  PODGPU_CHECK(podgpu::ParseListenAddress(podgpu::ToString(*address)) == address);
  return 0;
}
