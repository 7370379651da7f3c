#include "kube/kubelet_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/text.h"
#include "kube/pod_list_parser.h"
#include "kube/unary_call.h"

namespace podgpu {
namespace {

constexpr size_t kMaxSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr size_t kMaxServerTextBytes = 256;  // Limit for a message from the server.

struct ApiVersion {
  std::string_view name;
  std::string_view list_path;
};
constexpr ApiVersion kV1 = {"v1", "/v1.PodResourcesLister/List"};
constexpr ApiVersion kV1Alpha1 = {"v1alpha1", "/v1alpha1.PodResourcesLister/List"};

// Identity of a socket file: the kubelet makes a new one at each start. The inode number may be
// reused; then the change time differs.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t changed_s = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

std::string DurationText(std::chrono::milliseconds duration) {
  return duration.count() % 1000 == 0 ? absl::StrFormat("%d s", duration.count() / 1000)
                                      : absl::StrFormat("%d ms", duration.count());
}

using SharedList = std::shared_ptr<const PodAllocations>;

class KubeletClient final : public PodResources {
 public:
  explicit KubeletClient(KubeletClientOptions options)
      : options_(std::move(options)), parser_(options_.own_pod) {}

  StatusOr<SharedList> List() override {
    const Instant deadline = clock_.Now() + options_.timeout;
    const std::optional<FileIdentity> socket_file = Identify();
    if (!old_socket_ || old_socket_ != socket_file) {
      old_socket_.reset();
      StatusOr<SharedList> answer = ListAs(kV1, socket_file, deadline);
      if (answer.status().code() != absl::StatusCode::kUnimplemented) {
        return answer;
      }
    }
    StatusOr<SharedList> answer = ListAs(kV1Alpha1, socket_file, deadline);
    if (answer.ok()) {
      old_socket_ = socket_file;
    } else if (answer.status().code() == absl::StatusCode::kUnimplemented) {
      old_socket_.reset();
      return absl::UnimplementedError(absl::StrFormat(
          "%s serves neither v1 nor v1alpha1 of PodResourcesLister. Name the kubelet's "
          "pod-resources socket",
          options_.socket));
    }
    return answer;
  }

 private:
  std::optional<FileIdentity> Identify() const {
    struct stat status {};
    if (::stat(options_.socket.c_str(), &status) != 0) {
      return std::nullopt;
    }
    return FileIdentity{.device = status.st_dev,
                        .inode = status.st_ino,
                        .changed_s = status.st_ctim.tv_sec,
                        .changed_ns = status.st_ctim.tv_nsec};
  }

  StatusOr<SharedList> ListAs(const ApiVersion& version,
                              const std::optional<FileIdentity>& socket_file, Instant deadline) {
    PODGPU_ASSIGN_OR_RETURN(UnaryReply reply, Call(version.list_path, socket_file, deadline));
    if (reply.code != absl::StatusCode::kOk) {
      return ServerError(reply);
    }
    StatusOr<SharedList> answer =
        parser_.Parse(std::move(reply.message), {version.name, connections_});
    return answer.ok() ? std::move(answer) : Prefixed(answer.status(), ": ");
  }

  // Calls over the kept connection. If the server has closed it, which only a call detects, repeats
  // the call over a new connection.
  StatusOr<UnaryReply> Call(std::string_view path, const std::optional<FileIdentity>& socket_file,
                            Instant deadline) {
    if (connection_ != nullptr && connection_->is_usable() && connected_to_ == socket_file) {
      StatusOr<UnaryReply> reply = connection_->Call(path, deadline, clock_);
      if (reply.status().code() != absl::StatusCode::kUnavailable) {
        return reply.ok() ? std::move(reply) : CallError(reply.status());
      }
    }
    connection_.reset();
    PODGPU_ASSIGN_OR_RETURN(FileDescriptor socket, Connect(deadline));
    connection_ = std::make_unique<UnaryConnection>(std::move(socket), options_.max_message_bytes);
    connected_to_ = socket_file;
    ++connections_;
    StatusOr<UnaryReply> reply = connection_->Call(path, deadline, clock_);
    return reply.ok() ? std::move(reply) : CallError(reply.status());
  }

  StatusOr<FileDescriptor> Connect(Instant deadline) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (options_.socket.size() > kMaxSocketPathBytes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: the path has %d bytes, and a socket's may have %d. Mount its "
                          "directory under a shorter path",
                          options_.socket, options_.socket.size(), kMaxSocketPathBytes));
    }
    std::memcpy(address.sun_path, options_.socket.data(), options_.socket.size());
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open()) {
      return ConnectError(errno);
    }
    // A blocking connect waits while the server's backlog is full; SO_SNDTIMEO limits the wait.
    SetSendTimeout(socket.get(), deadline);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return ConnectError(errno);
    }
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    return socket;
  }

  void SetSendTimeout(int socket, Instant deadline) const {
    using std::chrono::microseconds;
    const auto left = std::chrono::ceil<microseconds>(deadline - clock_.Now());
    const int64_t left_us = std::max<int64_t>(1, left.count());  // 0 would mean no limit.
    const timeval limit = {.tv_sec = static_cast<time_t>(left_us / 1'000'000),
                           .tv_usec = static_cast<suseconds_t>(left_us % 1'000'000)};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  Status ConnectError(int error) const {
    const std::string& socket = options_.socket;
    switch (error) {
      case ENOENT:
      case ENOTDIR:
        return absl::NotFoundError(
            absl::StrFormat("%s does not exist. Mount the directory, not the file", socket));
      case EACCES:
      case EPERM:
        return absl::PermissionDeniedError(absl::StrFormat(
            "%s may not be opened by uid %d. Run as root: the kubelet makes the socket with "
            "mode 0755 for root alone",
            socket, ::geteuid()));
      case ECONNREFUSED:
        return absl::UnavailableError(absl::StrFormat(
            "%s refuses connections: no process listens on it. Mount the directory, not the file: "
            "the kubelet makes a new socket at each start",
            socket));
      case EAGAIN:
        return CallError(absl::DeadlineExceededError("has not answered"));
      default:
        return absl::UnavailableError(absl::StrFormat("%s cannot be connected: %s", socket,
                                                      std::system_category().message(error)));
    }
  }

  // Adds the socket to a connection error, and a remedy if there is one.
  Status CallError(const Status& status) const {
    if (status.code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::DeadlineExceededError(
          absl::StrFormat("%s has not answered for %s. Look at the "
                          "kubelet's log",
                          options_.socket, DurationText(options_.timeout)));
    }
    // These messages begin with a noun; the others begin with a verb.
    const bool has_noun = absl::string_view(status.message()).substr(0, 4) == "the ";
    return Prefixed(status, has_noun ? ": " : " ");
  }

  // Describes an error status in the kubelet's answer.
  Status ServerError(const UnaryReply& reply) const {
    if (reply.code == absl::StatusCode::kDeadlineExceeded) {
      return CallError(absl::DeadlineExceededError(""));  // The server knew the deadline.
    }
    const std::string text = CleanUtf8(std::string_view(reply.text).substr(0, kMaxServerTextBytes));
    if (reply.code == absl::StatusCode::kResourceExhausted &&
        text.find("rate limit") != std::string::npos) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("%s: rejected by rate limit, which all clients of the socket share. Find "
                          "the client that sends too many requests",
                          options_.socket));
    }
    return {reply.code, absl::StrFormat("%s answered %s: %s", options_.socket,
                                        absl::StatusCodeToString(reply.code), text)};
  }

  Status Prefixed(const Status& status, std::string_view joint) const {
    return {status.code(), absl::StrFormat("%s%s%s", options_.socket, joint, status.message())};
  }

  const KubeletClientOptions options_;
  PodListParser parser_;
  SystemClock clock_;
  std::unique_ptr<UnaryConnection> connection_;  // Null at first and after some failures.
  std::optional<FileIdentity> connected_to_;
  uint64_t connections_ = 0;                // Number of connections made so far.
  std::optional<FileIdentity> old_socket_;  // A socket that supports only v1alpha1.
};

}  // namespace

std::unique_ptr<PodResources> MakeKubeletClient(KubeletClientOptions options) {
  return std::make_unique<KubeletClient>(std::move(options));
}

}  // namespace podgpu
