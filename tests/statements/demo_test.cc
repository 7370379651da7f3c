// Statements 1 and 2: what the demo says, which port it takes, and that it leaves nothing behind.
// The build steps 1 and 2 are those of ./dev.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <re2/re2.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "tests/e2e/child.h"

namespace podgpu {
namespace {

// The demo in a folder of its own.
class DemoRun {
 public:
  explicit DemoRun(const std::vector<std::string>& variables)
      : folder_(Folder()),
        child_({PODGPU_BINARY_DIR "/bin/podgpu_demo", "demo", PODGPU_BINARY_DIR, folder_,
                "sim/scenarios"},
               variables) {}
  ~DemoRun() { std::filesystem::remove_all(folder_); }
  DemoRun(const DemoRun&) = delete;
  DemoRun& operator=(const DemoRun&) = delete;

  Child& child() { return child_; }
  const std::string& output() const { return child_.output(); }

  // The processes of this machine that name the folder.
  std::vector<std::string> Processes() const {
    std::vector<std::string> found;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      // A process may end between the two.
      const std::string line =
          SystemFiles().Read((process.path() / "cmdline").string()).value_or("");
      if (line.find(folder_) != std::string::npos) {
        found.push_back(line);
      }
    }
    return found;
  }

 private:
  static std::string Folder() {
    return std::string(PODGPU_BINARY_DIR) + "/demo-" + std::to_string(FreePort());
  }

  const std::string folder_;
  Child child_;
};

// The n of each line "demo n/5 ...".
std::vector<std::string> NumbersOfSteps(const std::string& output) {
  std::vector<std::string> numbers;
  for (const std::string_view line : Split(output, '\n')) {
    std::string number;
    if (RE2::PartialMatch(line, R"(^demo (\d+)/5 )", &number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<std::string> SampleLines(const std::string& output) {
  std::vector<std::string> samples;
  for (const std::string_view line : Split(output, '\n')) {
    if (RE2::PartialMatch(line, R"(^  (DCGM_FI_\w+|podgpu_\w+)\{.*\} [\d.]+$)")) {
      samples.emplace_back(line.substr(2));
    }
  }
  return samples;
}

// Whether the page has a line of the sample's family with all labels of the sample.
bool IsOnPage(std::string_view sample, std::string_view page) {
  const std::string_view family = sample.substr(0, sample.find('{') + 1);
  return std::ranges::any_of(Split(page, '\n'), [&](std::string_view line) {
    re2::StringPiece rest(sample);
    std::string label;
    bool is_whole = line.starts_with(family);
    while (RE2::FindAndConsume(&rest, R"re((\w+="[^"]*"))re", &label)) {
      is_whole = is_whole && line.find(label) != std::string_view::npos;
    }
    return is_whole;
  });
}

constexpr std::string_view kLastLine = "Ctrl-C stops both";

TEST(Statement1, TheDemoSaysItsStepsAndShowsLinesOfTheLivePage) {
  DemoRun demo({"PORT=" + std::to_string(FreePort())});
  ASSERT_TRUE(demo.child().AwaitLine(kLastLine)) << demo.output();
  std::string address;
  EXPECT_TRUE(RE2::PartialMatch(demo.output(), R"((http://localhost:\d+/)metrics)", &address))
      << demo.output();
  for (const char* const part :
       {"demo 3/5 simulator", "demo 4/5 exporter", "demo 5/5 check",
        "These numbers come from the simulator. No GPU of this machine is read."}) {
    EXPECT_NE(demo.output().find(part), std::string::npos) << part << "\n" << demo.output();
  }
  EXPECT_EQ(NumbersOfSteps(demo.output()), (std::vector<std::string>{"3", "4", "5"}));
  Child curl({"curl", "-s", "--max-time", "60", address + "metrics"});
  ASSERT_EQ(curl.Wait(), 0);
  const std::vector<std::string> samples = SampleLines(demo.output());
  EXPECT_EQ(samples.size(), 4U) << demo.output();
  for (const std::string& sample : samples) {
    EXPECT_TRUE(IsOnPage(sample, curl.output())) << sample << "\n" << curl.output();
  }
  Child page({"curl", "-s", "--max-time", "60", address});
  ASSERT_EQ(page.Wait(), 0);
  EXPECT_NE(page.output().find("8 GPUs have fresh samples"), std::string::npos) << page.output();
  demo.child().Signal(SIGINT);
  EXPECT_EQ(demo.child().Wait(), 0) << demo.output();
  EXPECT_EQ(demo.Processes(), std::vector<std::string>());
}

TEST(Statement2, ATakenPortIsNamedAndOnlyAChosenOneEndsTheDemo) {
  Child holder(
      {PODGPU_BINARY_DIR "/bin/podgpu", "-a", "127.0.0.1:9400", "--libdcgm=/nowhere/libdcgm.so.4"});
  if (!holder.AwaitLine("msg=\"serving\"")) {
    // Another program of this machine has the port, which serves as well.
    EXPECT_EQ(holder.Wait(), 2) << holder.output();
  }
  DemoRun chosen({"PORT=9400"});
  EXPECT_EQ(chosen.child().Wait(), 2);
  EXPECT_EQ(std::ranges::count(chosen.output(), '\n'), 1) << chosen.output();
  EXPECT_NE(chosen.output().find("port 9400 is taken by "), std::string::npos) << chosen.output();

  DemoRun moved({});
  ASSERT_TRUE(moved.child().AwaitLine(kLastLine)) << moved.output();
  std::string port;
  EXPECT_EQ(NumbersOfSteps(moved.output()), (std::vector<std::string>{"3", "4", "5"}));
  EXPECT_TRUE(
      RE2::PartialMatch(moved.output(), R"(port 9400 is taken by [^;]+; (\d+) is free)", &port))
      << moved.output();
  EXPECT_NE(moved.output().find("http://localhost:" + port + "/"), std::string::npos)
      << moved.output();
  moved.child().Signal(SIGINT);
  EXPECT_EQ(moved.child().Wait(), 0) << moved.output();
  EXPECT_EQ(moved.Processes(), std::vector<std::string>());
}

}  // namespace
}  // namespace podgpu
