#include "sim/kube/kubelet_socket.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/file_descriptor.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {
namespace {

// The first bytes are a length and a type that no HTTP/2 frame may have.
constexpr std::string_view kNonsense = "220 \xff\xfe this is not the kubelet\r\n";

constexpr int kBacklog = 16;

Status SocketError(const std::string& path) {
  return absl::UnavailableError(
      absl::StrFormat("%s: %s", path, std::generic_category().message(errno)));
}

// Binds a socket at a temporary name and renames it to `path`; listens when `backlog` is above 0.
StatusOr<FileDescriptor> Place(const std::string& path, int backlog) {
  PODGPU_RETURN_IF_ERROR(CheckSocketPath(path));
  const std::string temporary = std::filesystem::path(path).replace_filename("new").string();
  unlink(temporary.c_str());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  temporary.copy(address.sun_path, sizeof(address.sun_path) - 1);
  FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      (backlog > 0 && listen(listener.get(), backlog) != 0) ||
      rename(temporary.c_str(), path.c_str()) != 0) {
    return SocketError(path);
  }
  return listener;
}

class ThreadedNonsense final : public NonsenseServer {
 public:
  ThreadedNonsense(FileDescriptor listener, FileDescriptor end)
      : listener_(std::move(listener)), end_(std::move(end)), thread_([this] { Serve(); }) {}
  ThreadedNonsense(const ThreadedNonsense&) = delete;
  ThreadedNonsense& operator=(const ThreadedNonsense&) = delete;
  ~ThreadedNonsense() override { eventfd_write(end_.get(), 1); }

 private:
  void Serve() {
    std::vector<FileDescriptor> clients;
    std::vector<pollfd> polled;
    for (;;) {
      polled.assign({{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
      for (const FileDescriptor& client : clients) {
        polled.push_back({client.get(), POLLIN, 0});
      }
      poll(polled.data(), polled.size(), -1);
      if (polled[0].revents != 0) {
        return;
      }
      for (size_t i = clients.size(); i-- > 0;) {
        if (polled[2 + i].revents != 0 && !Answer(clients[i])) {
          clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (polled[1].revents != 0) {
        FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client.get() >= 0) {
          clients.push_back(std::move(client));
        }
      }
    }
  }

  // Returns false when the client has disconnected.
  static bool Answer(const FileDescriptor& client) {
    std::array<char, 4096> unread{};
    if (recv(client.get(), unread.data(), unread.size(), MSG_DONTWAIT) <= 0) {
      return false;
    }
    return send(client.get(), kNonsense.data(), kNonsense.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
  }

  const FileDescriptor listener_;
  const FileDescriptor end_;
  const std::jthread thread_;  // Last member: it uses the others.
};

}  // namespace

Status PlaceDeadSocket(const std::string& path) { return Place(path, 0).status(); }

StatusOr<std::unique_ptr<NonsenseServer>> NonsenseServer::Start(const std::string& path) {
  PODGPU_ASSIGN_OR_RETURN(FileDescriptor listener, Place(path, kBacklog));
  FileDescriptor end(eventfd(0, EFD_CLOEXEC));
  if (end.get() < 0) {
    return SocketError(path);
  }
  return std::make_unique<ThreadedNonsense>(std::move(listener), std::move(end));
}

}  // namespace podgpu::sim
