// podgpu-sim: a simulated GPU node.  Finds the command, parses against its row, runs it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "sim/program/command_line.h"
#include "sim/program/commands.h"

namespace {

using podgpu::sim::Arguments;
using podgpu::sim::Command;

int Fail(const podgpu::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

int Main(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    std::printf("%s", podgpu::sim::ProgramHelp(podgpu::sim::Commands()).c_str());
    return words.empty() ? 2 : 0;
  }
  if (words.front() == "manual") {  // Not in the help: the build of the package calls it.
    std::printf("%s", podgpu::sim::ManualPage(podgpu::sim::Commands()).c_str());
    return 0;
  }
  const podgpu::StatusOr<const Command*> command =
      podgpu::sim::FindCommand(podgpu::sim::Commands(), words.front());
  if (!command.ok()) {
    return Fail(command.status());
  }
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  for (const std::string& word : rest) {
    if (word == podgpu::sim::kProgramFollows) {
      break;
    }
    if (word == "--help" || word == "-h") {
      std::printf("%s", podgpu::sim::CommandHelp(**command).c_str());
      return 0;
    }
  }
  podgpu::StatusOr<Arguments> arguments = podgpu::sim::ParseArguments(**command, rest);
  if (!arguments.ok()) {
    return Fail(arguments.status());
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started.
  const char* const directory = getenv("PODGPU_SIM_DIR");
  if (directory != nullptr && *directory != '\0' && !arguments->Has("--dir")) {
    arguments->Set("--dir", directory);
  }
  const podgpu::StatusOr<int> code = (*command)->run(*arguments);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {  // Only the standard library throws, when out of memory.
    std::fprintf(stderr, "podgpu-sim: %s\n", error.what());
    return 1;
  }
}
