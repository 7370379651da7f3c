#include "http/inherited_socket.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(InheritedSocket, IsTheSocketForThisProcess) {
  EXPECT_EQ(InheritedSocket("1", "41", 41).value(), 3);
}

TEST(InheritedSocket, IsRefusedWithARemedyOtherwise) {
  struct Row {
    std::optional<std::string> fds, pid;
    std::string_view why;
  };
  const Row rows[] = {
      {std::nullopt, std::nullopt, "systemd has passed no socket"},
      {"1", std::nullopt, "systemd has passed no socket"},
      {"1", "42", "the socket is for process \"42\", and this is 41"},
      {"1", "me", "the socket is for process \"me\", and this is 41"},
      {"0", "41", "systemd has passed \"0\" sockets"},
      {"2", "41", "systemd has passed \"2\" sockets"},
      {"-1", "41", "systemd has passed \"-1\" sockets"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(InheritedSocket(row.fds, row.pid, 41).status(),
              absl::InvalidArgumentError(
                  "--web-systemd-socket: " + std::string(row.why) +
                  ". Start podgpu from a .socket unit with one ListenStream=, or remove the "
                  "flag"));
  }
}

}  // namespace
}  // namespace podgpu
