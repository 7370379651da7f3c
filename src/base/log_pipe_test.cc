#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "base/log.h"

namespace podgpu {
namespace {

// Standard error is a pipe until the end of the test.
class LogToAPipe : public ::testing::Test {
 protected:
  LogToAPipe() : before_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader_ = FileDescriptor(ends[0]);
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(ends[1], F_SETPIPE_SZ, 16'384);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~LogToAPipe() override { ::dup2(before_.get(), STDERR_FILENO); }

  std::string ReadAll() const {
    std::string text;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::read(reader_.get(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(count));
    }
    return text;
  }

 private:
  const FileDescriptor before_;
  FileDescriptor reader_;
};

TEST_F(LogToAPipe, AThreadThatLogsDoesNotWaitForAReader) {
  const uint64_t before = DroppedLogLines();
  const std::string detail(1'000, 'x');
  for (int line = 0; line < 100; ++line) {
    Log(LogLevel::kError, "a line", {{"detail", detail}});  // If it waited, it would never return.
  }
  const uint64_t dropped = DroppedLogLines() - before;
  EXPECT_GT(dropped, 50U);
  EXPECT_LT(dropped, 100U);
  EXPECT_EQ(ReadAll().find("dropped"), std::string::npos);

  Log(LogLevel::kError, "the next line");
  const std::string after = ReadAll();
  EXPECT_NE(after.find("level=WARN msg=\"log lines were dropped, since nothing read them\" lines=" +
                       std::to_string(dropped) + "\n"),
            std::string::npos)
      << after;
  EXPECT_NE(after.find("msg=\"the next line\"\n"), std::string::npos) << after;
  Log(LogLevel::kError, "one more");
  EXPECT_EQ(ReadAll().find("dropped"), std::string::npos) << "it is told once";
}

TEST_F(LogToAPipe, ALineLongerThanAPipeTakesAtOnceArrivesWhole) {
  const std::string detail(10'000, 'y');
  Log(LogLevel::kError, "a long line", {{"detail", detail}});
  EXPECT_NE(ReadAll().find(detail + "\n"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
