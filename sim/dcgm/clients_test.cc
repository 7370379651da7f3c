// Foreign programs with the simulated libraries: several processes read the same values, and a
// program that binds as Go's bindings do runs to its end.
#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

std::string LibraryPath(int major) {
  return std::string(PODGPU_BINARY_DIR) + "/lib/libdcgm.so." + std::to_string(major);
}

// A program of the build folder with pipes to and from it.
class Child {
 public:
  Child(const std::string& program, const std::string& argument) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      const std::string path = std::string(PODGPU_BINARY_DIR) + "/bin/" + program;
      execl(path.c_str(), path.c_str(), argument.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    fclose(to_);
    fclose(from_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  // Reads lines until a line with a dot, or the end of the output.
  std::vector<std::string> Answer() {
    std::vector<std::string> lines;
    std::array<char, 512> line{};
    while (fgets(line.data(), static_cast<int>(line.size()), from_) != nullptr) {
      const std::string text(line.data());
      if (text == ".\n") {
        break;
      }
      lines.push_back(text);
    }
    return lines;
  }
  void Ask() {
    fputc('\n', to_);
    fflush(to_);
  }
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

TEST(DcgmClients, ProcessesThatLoadTheFaceReadTheSameValuesAtTheSameTime) {
  TestNode node(kMig);
  setenv("PODGPU_SIM_DIR", node.path().c_str(), 1);
  Child first("face_reader", LibraryPath(4));
  Child second("face_reader", LibraryPath(4));
  Child older("face_reader", LibraryPath(3));
  for (Child* child : {&first, &second, &older}) {
    ASSERT_TRUE(child->Answer().empty());  // The child has set its watches.
  }
  constexpr TimeUs kYearUs = 365LL * 86'400 * 1'000'000;
  for (const TimeUs step : {TimeUs{0}, TimeUs{1}, TimeUs{999'999}, TimeUs{12'345'678},
                            TimeUs{86'400'000'000}, kYearUs, TimeUs{333'333}}) {
    if (step > 0) {
      ASSERT_TRUE(node.writer().Tick(step).ok());
    }
    // The second process reads twice, so the processes differ in the number of reads.
    second.Ask();
    second.Answer();
    std::vector<std::vector<std::string>> answers;
    for (Child* child : {&first, &second, &older}) {
      child->Ask();
      answers.push_back(child->Answer());
    }
    ASSERT_EQ(answers[0].size(), 6U * 24U) << step;  // 2 GPUs and 4 instances, 24 fields.
    EXPECT_EQ(answers[0], answers[1]) << step;
    EXPECT_EQ(answers[0], answers[2]) << step;
  }
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
  Child client("face_lazy_client", LibraryPath(GetParam()));
  const std::vector<std::string> lines = client.Answer();
  EXPECT_EQ(client.Wait(), 0);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "1 GPUs, " + std::string(run->world().gpu(0).uuid) + ", gpu_temp " +
                          std::to_string(run->world().TemperatureC(0, 0)) + "\n");
}

}  // namespace
}  // namespace podgpu::sim
