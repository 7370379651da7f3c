#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr size_t kLargestFileBytes = size_t{16} << 20;  // Nothing that we read is near this size.

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Status FromErrno(std::string_view path, int error) {
  const std::string message =
      absl::StrFormat("%s: %s", path, std::system_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

// An open file, closed when it goes out of scope. O_NONBLOCK: when a pipe stands in the place of a
// file, reading returns no data; it does not block the thread until a process writes.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

StatusOr<std::string> SystemFiles::Read(std::string_view path) const {
  const std::string full = root_ + std::string(path);
  const OpenFile file(full);
  if (file.get() < 0) {
    return FromErrno(full, errno);
  }
  std::string content;
  char buffer[16384];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) {
      return content;
    }
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return FromErrno(full, errno);
    }
    content.append(buffer, static_cast<size_t>(count));
    if (content.size() > kLargestFileBytes) {
      return absl::ResourceExhaustedError(absl::StrFormat("%s: larger than 16 MiB", full));
    }
  }
}

StatusOr<std::vector<std::string>> SystemFiles::List(std::string_view path) const {
  const std::string full = root_ + std::string(path);
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(full, error);
  const std::filesystem::directory_iterator end;
  while (!error && entry != end) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) {
    return FromErrno(full, error.value());
  }
  std::ranges::sort(names);
  return names;
}

StatusOr<std::string> SystemFiles::ReadLink(std::string_view path) const {
  const std::string full = root_ + std::string(path);
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(full, error);
  if (error) {
    return FromErrno(full, error.value());
  }
  return target.string();
}

std::optional<FileMark> SystemFiles::Mark(std::string_view path) const {
  struct stat status {};
  if (::stat((root_ + std::string(path)).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return FileMark{.device = status.st_dev,
                  .inode = status.st_ino,
                  .bytes = status.st_size,
                  .content_changed_ns = Nanoseconds(status.st_mtim),
                  .changed_ns = Nanoseconds(status.st_ctim)};
}

}  // namespace podgpu
