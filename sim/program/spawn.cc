#include "sim/program/spawn.h"

#include <csignal>
#include <spawn.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

namespace podgpu::sim {
namespace {

// The pointers are valid as long as `words` is.
std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

StatusOr<pid_t> Spawn(const std::string& program, const std::vector<std::string>& words,
                      const std::vector<std::string>& variables) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), nullptr, &attributes,
                                 Pointers(words).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "podgpu-sim: %s cannot be started: %s", program, std::generic_category().message(error)));
  }
  return pid;
}

std::vector<std::string> OwnVariables() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

}  // namespace podgpu::sim
