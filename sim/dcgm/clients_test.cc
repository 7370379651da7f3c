// A foreign program with the simulated libraries: it binds as Go's bindings do and runs to its end.
#include <array>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

std::string LibraryPath(int major) {
  return std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so." + std::to_string(major);
}

// Runs a program of the build folder and returns its exit code and standard output.
std::pair<int, std::string> RunProgram(const std::string& program, const std::string& argument) {
  const std::string path = PODGPU_BINARY_DIR "/bin/" + program;
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(path.c_str(), path.c_str(), argument.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  std::array<char, 512> part{};
  for (ssize_t size = 0; (size = read(ends[0], part.data(), part.size())) > 0;) {
    output.append(part.data(), static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

class DcgmLazyClient : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmLazyClient, testing::Values(4, 3),
                         [](const auto& generation) {
                           return "so" + std::to_string(generation.param);
                         });

TEST_P(DcgmLazyClient, ALazilyBoundProgramRunsFromInitToValues) {
  const DcgmBench bench(GetParam(), kWorkedExample);
  std::string error;
  const auto run = RunDirectory::Open("", error);
  ASSERT_NE(run, nullptr) << error;
  const auto [code, output] = RunProgram("face_lazy_client", LibraryPath(GetParam()));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(output, "1 GPUs, " + std::string(run->world().gpu(0).uuid) + ", gpu_temp " +
                        std::to_string(run->world().TemperatureC(0, 0)) + "\n");
}

}  // namespace
}  // namespace podgpu::sim
