#include "http/socket_file.h"

#include <filesystem>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "http/listen.h"
#include "http/testing/loopback_client.h"
#include "http/testing/test_server.h"
#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

constexpr int kSomeBacklog = 16;

FileDescriptor ConnectTo(const std::string& path) {
  FileDescriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? std::move(client)
             : FileDescriptor();
}

TEST(SocketFile, ListensAndIsRemovedAtTheEnd) {
  const WebConfigFiles files;
  const std::string path = files.path("p.sock");
  {
    const StatusOr<PathListener> listener = ListenOnPath(path, kSomeBacklog);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_TRUE(ConnectTo(path).is_open());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SocketFile, ReplacesTheSocketOfAKilledProcess) {
  const WebConfigFiles files;
  const std::string path = files.path("p.sock");
  {
    // Listens without the object that would remove the file.
    StatusOr<PathListener> killed = ListenOnPath(path, kSomeBacklog);
    ASSERT_TRUE(killed.ok()) << killed.status();
    std::filesystem::rename(path, path + ".kept");
  }
  std::filesystem::rename(path + ".kept", path);
  ASSERT_FALSE(ConnectTo(path).is_open());
  const StatusOr<PathListener> listener = ListenOnPath(path, kSomeBacklog);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(ConnectTo(path).is_open());
}

TEST(SocketFile, DoesNotTouchFilesAndSocketsInUse) {
  const WebConfigFiles files;
  const std::string path = files.path("p.sock");
  const StatusOr<PathListener> first = ListenOnPath(path, kSomeBacklog);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(ListenOnPath(path, kSomeBacklog).status(),
            absl::InvalidArgumentError("unix:" + path +
                                       " is in use by another process. Stop it, or choose another "
                                       "--address"));
  EXPECT_TRUE(ConnectTo(path).is_open());

  files.Write("precious", "file");
  EXPECT_EQ(ListenOnPath(files.path("file"), kSomeBacklog).status(),
            absl::InvalidArgumentError("unix:" + files.path("file") +
                                       " is a file, not a socket. Remove it, or choose another "
                                       "--address"));
  EXPECT_TRUE(std::filesystem::exists(files.path("file")));
}

TEST(SocketFile, DoesNotRemoveAFileThatReplacedIt) {
  const WebConfigFiles files;
  const std::string path = files.path("p.sock");
  {
    const StatusOr<PathListener> listener = ListenOnPath(path, kSomeBacklog);
    ASSERT_TRUE(listener.ok()) << listener.status();
    files.Write("another", "p.sock");
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(SocketFile, RefusesUnusablePaths) {
  EXPECT_EQ(ListenOnPath("/nowhere/p.sock", kSomeBacklog).status(),
            absl::InvalidArgumentError("unix:/nowhere/p.sock cannot be created: No such file or "
                                       "directory. Choose another --address"));
  const std::string path = "/" + std::string(107, 'x');
  EXPECT_EQ(ListenOnPath(path, kSomeBacklog).status(),
            absl::InvalidArgumentError("unix:" + path +
                                       " is longer than 107 bytes. Choose a shorter --address"));
}

TEST(SocketFile, ServesHttp) {
  const WebConfigFiles files;
  HttpServerOptions options;
  options.address = "unix:" + files.path("p.sock");
  const auto server = StartServer(options);
  EXPECT_EQ(server->port(), 0);
  const FileDescriptor client = ConnectTo(files.path("p.sock"));
  constexpr std::string_view kRequest = "GET /a HTTP/1.0\r\n\r\n";
  ASSERT_EQ(::send(client.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(kRequest.size()));
  std::string answer;
  char chunk[4096];
  for (ssize_t count = 0; (count = ::recv(client.get(), chunk, sizeof chunk, 0)) > 0;) {
    answer.append(static_cast<const char*>(chunk), static_cast<size_t>(count));
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nGET /a  ")) << answer;
}

TEST(AdoptedListener, ServesASocketThatIsListening) {
  StatusOr<Listener> made = Listen({.host = "127.0.0.1", .port = 0, .path = ""}, SystemFiles());
  ASSERT_TRUE(made.ok()) << made.status();
  const uint16_t port = made->port;
  HttpServerOptions options;
  options.inherited_socket = made->socket.Release();
  const auto server = StartServer(options);
  EXPECT_EQ(server->port(), port);
  EXPECT_EQ(LoopbackClient(port).Fetch("/a").body, "GET /a  ");
}

TEST(AdoptedListener, RefusesASocketThatIsNotListening) {
  const FileDescriptor idle(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int descriptor : {idle.get(), -1}) {
    const StatusOr<Listener> adopted = AdoptListener(descriptor);
    EXPECT_EQ(adopted.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(adopted.status().message().find("does not listen for streams"), std::string::npos);
  }
}

}  // namespace
}  // namespace podgpu
