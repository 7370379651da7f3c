#include "http/socket_file.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

Status RefusePath(const std::string& path, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrFormat("unix:%s %s", path, why));
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

FileDescriptor NewSocket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Removes a socket file at `path` that no process uses.
Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return absl::OkStatus();
  }
  if (!S_ISSOCK(status.st_mode)) {
    return RefusePath(path, "is a file, not a socket. Remove it, or choose another --address");
  }
  const FileDescriptor probe = NewSocket();
  if (::connect(probe.get(), Generic(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return RefusePath(path, "is in use by another process. Stop it, or choose another --address");
  }
  ::unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

SocketFile::~SocketFile() {
  struct stat status {};
  if (!path_.empty() && ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
      status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

StatusOr<PathListener> ListenOnPath(const std::string& path, int backlog) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return RefusePath(path, absl::StrFormat("is longer than %d bytes. Choose a shorter --address",
                                            sizeof address.sun_path - 1));
  }
  std::memcpy(static_cast<char*>(address.sun_path), path.data(), path.size());
  FileDescriptor socket = NewSocket();
  int result = ::bind(socket.get(), Generic(address), sizeof address);
  if (result != 0 && errno == EADDRINUSE) {
    PODGPU_RETURN_IF_ERROR(RemoveStale(path, address));
    result = ::bind(socket.get(), Generic(address), sizeof address);
  }
  if (result != 0) {
    return RefusePath(path, absl::StrFormat("cannot be created: %s. Choose another --address",
                                            std::system_category().message(errno)));
  }
  SocketFile file(path);
  if (::listen(socket.get(), backlog) != 0) {
    return RefusePath(path, std::system_category().message(errno));
  }
  return PathListener{std::move(socket), std::move(file)};
}

}  // namespace podgpu
