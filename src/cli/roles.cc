#include "cli/roles.h"

namespace podgpu {
namespace {

constexpr Role kRoles[] = {
    {"node", "[node] [flags]", "serve the GPUs of this node"},
    {"cluster", "cluster --nodes=...", "serve the map of all nodes"},
    {"doctor", "doctor [flags]", "say what this node gives and lacks"},
    {"completion", "completion bash|zsh|fish", "print a completion script"},
    {"version", "version", "print the version"},
};

}  // namespace

std::span<const Role> Roles() { return kRoles; }

}  // namespace podgpu
