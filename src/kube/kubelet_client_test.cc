#include "kube/kubelet_client.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file_descriptor.h"
#include "base/testing/temporary_folder.h"
#include "base/text.h"
#include "kube/testing/fake_kubelet_server.h"
#include "pod_resources_v1.pb.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};  // No passing test comes near it.

std::string Framed(const std::string& message, char flag = 0) {
  std::string frame(1, flag);
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    frame += static_cast<char>(message.size() >> shift & 0xFFU);
  }
  return frame + message;
}

// Returns an answer with `pods` pods; each holds one GPU.
std::string Pods(int pods) {
  v1::ListPodResourcesResponse response;
  for (int i = 0; i < pods; ++i) {
    v1::PodResources* pod = response.add_pod_resources();
    pod->set_namespace_("ml");
    pod->set_name("pod-" + std::to_string(i));
    v1::ContainerResources* container = pod->add_containers();
    container->set_name("main");
    v1::ContainerDevices* devices = container->add_devices();
    devices->set_resource_name("nvidia.com/gpu");
    devices->add_device_ids("GPU-" + std::to_string(i));
  }
  return response.SerializeAsString();
}

FakeReply Reply(const std::string& body) {
  FakeReply reply;
  reply.body = body;
  return reply;
}

FakeReply Refusal(const std::string& grpc_status, const std::string& grpc_message) {
  FakeReply reply;
  reply.headers_only = true;
  reply.grpc_status = grpc_status;
  reply.grpc_message = grpc_message;
  return reply;
}

class KubeletClient : public testing::Test {
 protected:
  KubeletClient() { socket_ = folder_.path() + "/kubelet.sock"; }

  std::unique_ptr<PodResources> Client(milliseconds timeout = kLong,
                                       size_t max_message_bytes = size_t{64} << 20) const {
    return MakeKubeletClient(
        {.socket = socket_, .timeout = timeout, .max_message_bytes = max_message_bytes});
  }

  // Returns the client's error for a server with `script`.
  Status Error(const FakeKubeletServer::Script& script, milliseconds timeout = kLong) {
    const FakeKubeletServer server(socket_, script);
    return ErrorOf(*Client(timeout));
  }

  Status RawError(const FakeKubeletServer::RawScript& raw, milliseconds timeout = kLong) {
    const auto server = FakeKubeletServer::Raw(socket_, raw);
    return ErrorOf(*Client(timeout));
  }

  Status ErrorOf(PodResources& client) {
    const Status status = client.List().status();
    std::filesystem::remove(socket_);
    return status;
  }

  void Expect(const Status& status, absl::StatusCode code, std::string_view rest) const {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), socket_ + std::string(rest));
  }

  const TemporaryFolder folder_;
  std::string socket_;
};

// Reads until the client closes the connection.
void AwaitEnd(int socket) {
  char bytes[4096];
  while (::recv(socket, bytes, sizeof bytes, 0) > 0) {
  }
}

TEST_F(KubeletClient, ListsThePodsOfTheNode) {
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(2))); });
  const auto client = Client();
  for (int i = 0; i < 3; ++i) {
    const StatusOr<std::shared_ptr<const PodAllocations>> answer = client->List();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)->api_version, "v1");
    EXPECT_EQ((*answer)->pod_count, 2U);
    EXPECT_EQ((*answer)->allocations[1],
              (Allocation{"ml", "pod-1", "main", "nvidia.com/gpu", "GPU-1"}));
  }
  EXPECT_EQ(server.connections(), 1U);
}

// Kubelets list pods in a random order.
TEST_F(KubeletClient, ReturnsTheSameObjectWhileTheKubeletListsTheSame) {
  v1::ListPodResourcesResponse pods;
  ASSERT_TRUE(pods.ParseFromString(Pods(3)));
  FakeKubeletServer server(socket_, [&](const std::string&) {
    FakeReply reply = Reply(Framed(pods.SerializeAsString()));
    pods.mutable_pod_resources()->SwapElements(0, 2);
    pods.mutable_pod_resources()->SwapElements(1, 2);
    return reply;
  });
  const auto client = Client();
  const StatusOr<std::shared_ptr<const PodAllocations>> first = client->List();
  ASSERT_TRUE(first.ok()) << first.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*client->List(), *first);
  }
  server.HangUp();
  const StatusOr<std::shared_ptr<const PodAllocations>> reconnected = client->List();
  ASSERT_TRUE(reconnected.ok()) << reconnected.status();
  EXPECT_NE(*reconnected, *first) << "a kubelet that has just started may not list all pods";
  EXPECT_EQ((*reconnected)->allocations, (*first)->allocations);
}

TEST_F(KubeletClient, ReconnectsWhenTheServerHasClosed) {
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(1))); });
  const auto client = Client();
  for (uint64_t i = 1; i <= 3; ++i) {
    StatusOr<std::shared_ptr<const PodAllocations>> answer = client->List();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)->connection, i);
    answer = client->List();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)->connection, i) << "the connection is kept";
    server.HangUp();
  }
  EXPECT_EQ(server.connections(), 3U);
}

TEST_F(KubeletClient, ReconnectsAfterAFailedCall) {
  FakeReply reset;
  reset.reset_code = 2;  // INTERNAL_ERROR
  FakeReply go_away;
  go_away.go_away = true;
  FakeReply torn = Reply(Framed(Pods(1)).substr(0, 9));
  for (const FakeReply& wrong : {reset, go_away, torn}) {
    FakeReply next = wrong;
    FakeKubeletServer server(
        socket_, [&](const std::string&) { return std::exchange(next, Reply(Framed(Pods(1)))); });
    const auto client = Client();
    EXPECT_FALSE(client->List().ok());
    const StatusOr<std::shared_ptr<const PodAllocations>> answer = client->List();
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(server.connections(), 2U);
    std::filesystem::remove(socket_);
  }
}

// A proper refusal does not end the connection.
TEST_F(KubeletClient, KeepsTheConnectionAfterARefusal) {
  FakeKubeletServer server(socket_, [](const std::string&) { return Refusal("2", "no"); });
  const auto client = Client();
  EXPECT_EQ(client->List().status().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(client->List().status().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(server.connections(), 1U);
}

TEST_F(KubeletClient, SendsRequestsLikeGrpc) {
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed("")); });
  ASSERT_TRUE(Client(milliseconds(5'000))->List().ok());
  FakeHeaders headers = server.requests().at(0);
  const auto timeout = std::find_if(headers.begin(), headers.end(), [](const auto& header) {
    return header.first == "grpc-timeout";
  });
  ASSERT_NE(timeout, headers.end());
  ASSERT_TRUE(timeout->second.ends_with("m")) << timeout->second;
  timeout->second.pop_back();
  EXPECT_LE(ParseDecimal(timeout->second).value_or(UINT64_MAX), 5'000U);
  headers.erase(timeout);
  const FakeHeaders expected = {
      {":method", "POST"},
      {":scheme", "http"},
      {":path", "/v1.PodResourcesLister/List"},
      {":authority", "localhost"},
      {"content-type", "application/grpc"},
      {"te", "trailers"},
      {"user-agent", "podgpu"},
  };
  EXPECT_EQ(headers, expected);
  EXPECT_EQ(server.bodies(), std::string(5, '\0'));
}

TEST_F(KubeletClient, ReadsAnswersInFramesOfAnySize) {
  const std::string message = Framed(Pods(300));
  for (const size_t frame_bytes : {size_t{7}, size_t{1000}, size_t{16384}}) {
    FakeKubeletServer server(socket_, [&](const std::string&) {
      FakeReply reply = Reply(message);
      reply.frame_bytes = frame_bytes;
      return reply;
    });
    const StatusOr<std::shared_ptr<const PodAllocations>> answer = Client()->List();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ((*answer)->allocations.size(), 300U);
    std::filesystem::remove(socket_);
  }
}

TEST_F(KubeletClient, ReadsAnAnswerFarAboveTheDefaultLimits) {
  // 4 MiB is the default limit of gRPC clients.
  const std::string message = Pods(120'000);
  ASSERT_GT(message.size(), size_t{4} << 20);
  FakeKubeletServer server(socket_, [&](const std::string&) { return Reply(Framed(message)); });
  const StatusOr<std::shared_ptr<const PodAllocations>> answer = Client()->List();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->pod_count, 120'000U);
}

TEST_F(KubeletClient, AnswersAPing) {
  FakeKubeletServer server(socket_, [](const std::string&) {
    FakeReply reply = Reply(Framed(Pods(1)));
    reply.ping = true;
    return reply;
  });
  EXPECT_TRUE(Client()->List().ok());
}

TEST_F(KubeletClient, UsesV1Alpha1WhenV1IsUnknown) {
  const auto old_kubelet = [](const std::string& path) {
    return path.starts_with("/v1alpha1.") ? Reply(Framed(Pods(1)))
                                          : Refusal("12", "unknown service v1.PodResourcesLister");
  };
  const auto client = Client();
  const std::string v1 = "/v1.PodResourcesLister/List";
  const std::string v1alpha1 = "/v1alpha1.PodResourcesLister/List";
  {
    FakeKubeletServer server(socket_, old_kubelet);
    for (int i = 0; i < 2; ++i) {
      const StatusOr<std::shared_ptr<const PodAllocations>> answer = client->List();
      ASSERT_TRUE(answer.ok()) << answer.status();
      EXPECT_EQ((*answer)->api_version, "v1alpha1");
    }
    EXPECT_EQ(server.paths(), (std::vector<std::string>{v1, v1alpha1, v1alpha1}));
  }
  // A restarted kubelet has a new socket and may be a newer release. The old file is kept, so that
  // the new one cannot have its inode number.
  std::filesystem::rename(socket_, socket_ + ".old");
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(1))); });
  EXPECT_EQ((*client->List())->api_version, "v1");
}

TEST_F(KubeletClient, ReportsARefusal) {
  struct Row {
    FakeReply reply;
    absl::StatusCode code;
    std::string_view rest;
  };
  FakeReply in_trailers = Reply("");
  in_trailers.grpc_status = "14";
  in_trailers.grpc_message = "shutting down";
  const Row rows[] = {
      {Refusal("12", "unknown service"), absl::StatusCode::kUnimplemented,
       " serves neither v1 nor v1alpha1 of PodResourcesLister. Name the kubelet's pod-resources "
       "socket"},
      {Refusal("8", "rejected by rate limit"), absl::StatusCode::kResourceExhausted,
       ": rejected by rate limit, which all clients of the socket share. Find the client "
       "that sends too many requests"},
      {Refusal("8", "trying to send message larger than max (9 vs. 8)"),
       absl::StatusCode::kResourceExhausted,
       " answered RESOURCE_EXHAUSTED: trying to send message larger than max (9 vs. 8)"},
      {Refusal("2", "caf%C3%A9%3A 100%"), absl::StatusCode::kUnknown,
       " answered UNKNOWN: caf\xC3\xA9: 100%"},
      {Refusal("2", "bad %FF byte"), absl::StatusCode::kUnknown,
       " answered UNKNOWN: bad \uFFFD byte"},
      {Refusal("99", ""), absl::StatusCode::kUnknown, " answered UNKNOWN: "},
      {Refusal("x", ""), absl::StatusCode::kUnknown, " answered UNKNOWN: "},
      {in_trailers, absl::StatusCode::kUnavailable, " answered UNAVAILABLE: shutting down"},
  };
  for (const Row& row : rows) {
    Expect(Error([&](const std::string&) { return row.reply; }), row.code, row.rest);
  }
}

TEST_F(KubeletClient, ReportsAnInvalidAnswer) {
  struct Row {
    FakeReply reply;
    absl::StatusCode code;
    std::string_view rest;
  };
  FakeReply no_status = Reply(Framed(Pods(1)));
  no_status.grpc_status.reset();
  FakeReply headers_without_status = no_status;
  headers_without_status.headers_only = true;
  FakeReply not_found = headers_without_status;
  not_found.http_status = "404";
  FakeReply closed = Reply(Framed(Pods(1)));
  closed.close = true;
  FakeReply reset;
  reset.reset_code = 2;  // INTERNAL_ERROR
  FakeReply go_away;
  go_away.go_away = true;
  const std::string pods = Pods(1);
  const Row rows[] = {
      {no_status, absl::StatusCode::kDataLoss, " ended the call without grpc-status"},
      {headers_without_status, absl::StatusCode::kDataLoss, " ended the call without grpc-status"},
      {not_found, absl::StatusCode::kUnavailable, " answered HTTP 404, which is not gRPC"},
      {closed, absl::StatusCode::kUnavailable, " closed the connection before it answered"},
      {reset, absl::StatusCode::kUnavailable, " reset the call (HTTP/2 INTERNAL_ERROR)"},
      {go_away, absl::StatusCode::kUnavailable, " reset the call (HTTP/2 REFUSED_STREAM)"},
      {Reply(Framed(pods, 1)), absl::StatusCode::kDataLoss,
       ": the answer is compressed, which was not offered"},
      {Reply(Framed(pods) + Framed(pods)), absl::StatusCode::kDataLoss,
       ": the answer to a single call has more than one message"},
      {Reply(Framed(pods).substr(0, 9)), absl::StatusCode::kDataLoss,
       " ended the call without error, but without a complete message"},
      {Reply(""), absl::StatusCode::kDataLoss,
       " ended the call without error, but without a complete message"},
      {Reply(Framed("<html>")), absl::StatusCode::kDataLoss,
       ": the answer is not a PodResources message"},
  };
  for (const Row& row : rows) {
    Expect(Error([&](const std::string&) { return row.reply; }), row.code, row.rest);
  }
}

TEST_F(KubeletClient, Statement37RefusesATooLongAnswerBeforeItArrives) {
  // Only the length of the answer is sent; the call must still end.
  FakeKubeletServer server(socket_, [](const std::string&) {
    FakeReply reply = Reply(std::string("\0\x04\x70\x00\x00", 5));
    reply.without_end = true;
    return reply;
  });
  Expect(Client()->List().status(), absl::StatusCode::kResourceExhausted,
         ": the pod list is 71 MiB, limit 64 MiB");
}

TEST_F(KubeletClient, GivesUpAtTheDeadlineWhateverTheServerDoes) {
  constexpr milliseconds kShort{60};
  const std::string_view rest = " has not answered for 60 ms. Look at the kubelet's log";
  FakeReply unended = Reply(Framed(Pods(1)));
  unended.without_end = true;
  Expect(Error([&](const std::string&) { return unended; }, kShort),
         absl::StatusCode::kDeadlineExceeded, rest);
  Expect(RawError(AwaitEnd, kShort), absl::StatusCode::kDeadlineExceeded, rest);
  // A gRPC server notices first, because the call contains the deadline.
  Expect(Error([](const std::string&) { return Refusal("4", "Deadline Exceeded"); }, kShort),
         absl::StatusCode::kDeadlineExceeded, rest);
  // An endless series of SETTINGS frames must not extend the deadline.
  Expect(RawError(
             [](int socket) {
               static constexpr std::string_view kSettings("\0\0\0\4\0\0\0\0\0", 9);
               while (::send(socket, kSettings.data(), kSettings.size(), MSG_NOSIGNAL) > 0) {
                 char bytes[4096];
                 ::recv(socket, bytes, sizeof bytes, 0);
               }
             },
             kShort),
         absl::StatusCode::kDeadlineExceeded, rest);
}

TEST_F(KubeletClient, GivesUpOnAServerThatDoesNotAccept) {
  const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), name, sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const FileDescriptor first(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(first.get(), name, sizeof address), 0) << "the backlog is full from here on";
  Expect(Client(milliseconds(50))->List().status(), absl::StatusCode::kDeadlineExceeded,
         " has not answered for 50 ms. Look at the kubelet's log");
}

TEST_F(KubeletClient, ReportsAServerWithoutHttp2) {
  const auto answers = [](std::string_view text) {
    return [text](int socket) {
      char bytes[4096];
      ::recv(socket, bytes, sizeof bytes, 0);
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
      AwaitEnd(socket);
    };
  };
  for (const std::string_view text :
       {std::string_view("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
        std::string_view("\x15\x03\x01\0\2\2\x46 a TLS alert and more", 28),
        std::string_view("\0\0\0\1\4\0\0\0\1 headers before settings", 33)}) {
    Expect(RawError(answers(text)), absl::StatusCode::kDataLoss, " does not speak HTTP/2");
  }
}

TEST_F(KubeletClient, ReportsAServerThatClosesTheConnection) {
  Expect(RawError([](int) {}), absl::StatusCode::kUnavailable,
         " closed the connection before it answered");
  Expect(RawError([](int socket) {
           ::shutdown(socket, SHUT_WR);
           AwaitEnd(socket);
         }),
         absl::StatusCode::kUnavailable, " closed the connection before it answered");
}

TEST_F(KubeletClient, ReconnectsToARestartedKubelet) {
  const auto client = Client();
  EXPECT_EQ(client->List().status().code(), absl::StatusCode::kNotFound);
  {
    FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(1))); });
    EXPECT_TRUE(client->List().ok());
  }
  EXPECT_EQ(client->List().status().code(), absl::StatusCode::kUnavailable);
  std::filesystem::remove(socket_);
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(1))); });
  EXPECT_TRUE(client->List().ok());
}

TEST_F(KubeletClient, Statement37ReportsWhyASocketCannotBeConnected) {
  Expect(Client()->List().status(), absl::StatusCode::kNotFound,
         " does not exist. Mount the directory, not the file");
  std::ofstream(socket_) << "a file";
  Expect(Client()->List().status(), absl::StatusCode::kUnavailable,
         " refuses connections: no process listens on it. Mount the directory, not the file: the "
         "kubelet makes a new socket at each start");
  socket_ += "/below-a-file";
  Expect(Client()->List().status(), absl::StatusCode::kNotFound,
         " does not exist. Mount the directory, not the file");
  socket_ = folder_.path() + "/" + std::string(120 - folder_.path().size(), 'x');
  Expect(Client()->List().status(), absl::StatusCode::kInvalidArgument,
         ": the path has 121 bytes, and a socket's may have 107. Mount its directory under a "
         "shorter path");
}

// Runs `action` as a user without rights; returns true when it ran and returned true. Uses a child
// process, because dropped rights cannot be regained.
template <typename Action>
bool HoldsWithoutRights(Action action) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_root = ::geteuid() == 0;
    const bool ready = !is_root || (::setgid(65534) == 0 && ::setuid(65534) == 0);
    ::_exit(ready && action() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(KubeletClient, ReportsAUserThatMayNotConnect) {
  FakeKubeletServer server(socket_, [](const std::string&) { return Reply(Framed(Pods(1))); });
  ASSERT_EQ(::chmod(socket_.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_TRUE(HoldsWithoutRights([&] {
    const Status status = Client()->List().status();
    return status.code() == absl::StatusCode::kPermissionDenied &&
           status.message() == socket_ + " may not be opened by uid " +
                                   std::to_string(::geteuid()) +
                                   ". Run as root: the kubelet makes the socket with mode 0755 "
                                   "for root alone";
  }));
}

}  // namespace
}  // namespace podgpu
