// A short-lived run directory for tests: a compiled scenario and a manual clock, removed
// afterwards.
//
// It is under the system's temporary folder, so socket paths are short for every build folder. Owns
// the writer through which a test moves the clock.  One per test; one thread.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sim/scenario/compile.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {

// A temporary folder that is removed with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "run-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string Write(std::string_view name, std::string_view text) const {
    std::string file = path_ + "/" + std::string(name);
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::string path_;
};

// A node of `scenario` with a manual clock at 0; `time_scale` divides the vendor's own time-outs.
class TestNode {
 public:
  explicit TestNode(std::string_view scenario, int64_t time_scale = 1) {
    const CompileResult compiled = CompileScenario(scenario, "test.yaml");
    for (const std::string& error : compiled.errors) {
      ADD_FAILURE() << error;
    }
    folder_.Write("scenario.yaml", scenario);
    StatusOr<RunWriter> writer = RunWriter::Create(
        {.directory = folder_.path(), .mode = ClockMode::kManual, .time_scale = time_scale},
        compiled.image);
    EXPECT_TRUE(writer.ok()) << writer.status();
    if (writer.ok()) {
      writer_.emplace(*std::move(writer));
    }
  }

  RunWriter& writer() { return *writer_; }
  const TestFolder& folder() const { return folder_; }
  const std::string& path() const { return folder_.path(); }

 private:
  TestFolder folder_;
  std::optional<RunWriter> writer_;
};

}  // namespace podgpu::sim
