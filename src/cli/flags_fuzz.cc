// Any argument list is either understood or refused in one line of valid text; it never crashes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/flags.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> arguments;
  for (const std::string_view part : podgpu::Split(bytes, '\0')) {
    arguments.emplace_back(part);
  }
  const auto none = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  const podgpu::StatusOr<podgpu::NodeCommand> command = podgpu::ParseFlags(arguments, none);
  if (!command.ok() && command.status().message().empty()) {
    std::abort();
  }
  if (command.ok()) {
    podgpu::HostnameLabelValue(*command, none, "host");
  }
  return 0;
}
