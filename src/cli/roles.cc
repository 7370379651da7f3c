#include "cli/roles.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr Role kRoles[] = {
    {"node", "[node] [flags]", "serve the GPUs of this node"},
    {"cluster", "cluster --nodes=...", "serve the map of all nodes"},
    {"doctor", "doctor [flags]", "say what this node gives and lacks"},
    {"top", "top [URL] [flags]", "show GPUs, pods, processes live"},
    {"completion", "completion bash|zsh|fish", "print a completion script"},
    {"version", "version", "print the version"},
};

}  // namespace

std::span<const Role> Roles() { return kRoles; }

Status UnknownRole(std::string_view word) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&list, "%s%s", list.empty() ? "" : ", ", Quoted(role.name));
    names.push_back(role.name);
  }
  const std::optional<std::string_view> nearest = Nearest(word, names);
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown command %s%s; there are %s. See podgpu --help", Quoted(word),
                      nearest ? absl::StrFormat("; nearest is %s", Quoted(*nearest)) : "", list));
}

}  // namespace podgpu
