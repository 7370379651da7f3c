#include "base/guarded_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kSuffix = ".swp";  // A name that node-exporter does not read.
constexpr size_t kRandomDigits = 16;          // Digits of TemporaryName().
constexpr int kMostLinks = 40;                // The number of links that the kernel follows, too.

Status FileError(std::string_view path, std::string_view what, int error) {
  return absl::UnavailableError(
      absl::StrFormat("%s: %s: %s", path, what, std::system_category().message(error)));
}

// Walks to a directory one name at a time and checks each link on the way.
class Walk {
 public:
  Walk(const std::string& path, TrustedUsers users, bool makes)
      : path_(path), users_(users), makes_(makes) {}

  StatusOr<FileDescriptor> Go() {
    Begin(path_);
    while (!rest_.empty()) {
      const std::string name = rest_.front();
      rest_.pop_front();
      PODGPU_RETURN_IF_ERROR(Step(name));
    }
    FileDescriptor directory(::openat(at_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return directory.is_open() ? StatusOr<FileDescriptor>(std::move(directory))
                               : FileError(path_, "cannot be opened", errno);
  }

 private:
  // Puts `path` in front of the names that are still to be walked.
  void Begin(std::string_view path) {
    if (path.starts_with('/') || !at_.is_open()) {
      at_ = FileDescriptor(
          ::open(path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    const std::vector<std::string_view> names = Split(path, '/');
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      if (!name->empty()) {
        rest_.emplace_front(*name);
      }
    }
  }

  Status Step(const std::string& name) {
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    FileDescriptor next(::openat(at_.get(), name.c_str(), kFlags));
    if (!next.is_open() && errno == ENOENT && makes_ &&
        (::mkdirat(at_.get(), name.c_str(), S_IRWXU) == 0 || errno == EEXIST)) {
      next = FileDescriptor(::openat(at_.get(), name.c_str(), kFlags));
    }
    struct stat facts {};
    if (!next.is_open() || ::fstat(next.get(), &facts) != 0) {
      return FileError(path_, makes_ ? "cannot be made" : "cannot be opened", errno);
    }
    if (S_ISLNK(facts.st_mode)) {
      return Follow(name, next, facts.st_uid);
    }
    at_ = std::move(next);
    return absl::OkStatus();
  }

  Status Follow(const std::string& name, const FileDescriptor& link, uid_t owner) {
    if (!users_.Include(owner)) {
      return absl::PermissionDeniedError(absl::StrFormat(
          "%s: user %d made the link \"%s\" in this path, and podgpu runs as user %d. Remove "
          "the link, or use the path without it",
          path_, owner, name, users_.self));
    }
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(link.get(), "", target.data(), target.size());
    if (length <= 0 || ++links_ > kMostLinks) {
      return FileError(path_, "cannot be opened", length < 0 ? errno : ELOOP);
    }
    Begin({target.data(), static_cast<size_t>(length)});
    return absl::OkStatus();
  }

  const std::string& path_;
  const TrustedUsers users_;
  const bool makes_;
  FileDescriptor at_;
  std::deque<std::string> rest_;
  int links_ = 0;
};

// Checks that other users cannot create files or links in the directory; `facts` is its stat.
Status CheckGuarded(const std::string& path, const struct stat& facts, TrustedUsers users) {
  constexpr mode_t kAllBits = 07777;
  if (!users.Include(facts.st_uid)) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "%s belongs to user %d, and podgpu runs as user %d: nothing is written where another user "
        "can plant links. chown it to user %d, or name another directory",
        path, facts.st_uid, users.self, users.self));
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrFormat("%s may be written by other users (mode %04o): nothing is written where "
                        "they can plant links. chmod go-w it, or name another directory",
                        path, facts.st_mode & kAllBits));
  }
  return absl::OkStatus();
}

StatusOr<FileDescriptor> OpenGuarded(const std::string& path, TrustedUsers users, bool makes) {
  PODGPU_ASSIGN_OR_RETURN(FileDescriptor directory, Walk(path, users, makes).Go());
  struct stat facts {};
  if (::fstat(directory.get(), &facts) != 0) {
    return FileError(path, "cannot be opened", errno);
  }
  PODGPU_RETURN_IF_ERROR(CheckGuarded(path, facts, users));
  return directory;
}

// Returns for example "a.prom.0123456789abcdef.swp" for "a.prom".
std::string TemporaryName(std::string_view name) {
  uint64_t number = 0;
  PODGPU_CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return absl::StrFormat("%s.%016x%s", name, number, kSuffix);
}

// Writes all of `content`; 0, or the error.
int WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno != EINTR) {
      return errno;
    }
    content.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return 0;
}

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

}  // namespace

TrustedUsers TrustedUsers::OfThisProcess() { return {.self = ::geteuid(), .root = 0}; }

StatusOr<GuardedDirectory> GuardedDirectory::Open(const std::string& path, TrustedUsers users) {
  PODGPU_ASSIGN_OR_RETURN(FileDescriptor directory, OpenGuarded(path, users, false));
  return GuardedDirectory(path, std::move(directory));
}

StatusOr<GuardedDirectory> GuardedDirectory::Make(const std::string& path, TrustedUsers users) {
  PODGPU_ASSIGN_OR_RETURN(FileDescriptor directory, OpenGuarded(path, users, true));
  return GuardedDirectory(path, std::move(directory));
}

Status GuardedDirectory::Replace(const std::string& name, std::string_view content,
                                 mode_t mode) const {
  const std::string beside = TemporaryName(name);
  const FileDescriptor file(::openat(directory_.get(), beside.c_str(),
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file.is_open()) {
    return FileError(absl::StrFormat("%s/%s", path_, beside), "cannot be made", errno);
  }
  // The umask took rights away from the mode above.
  int error = ::fchmod(file.get(), mode) == 0 ? WriteAll(file.get(), content) : errno;
  if (error == 0 &&
      ::renameat(directory_.get(), beside.c_str(), directory_.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    Remove(beside);
    return FileError(absl::StrFormat("%s/%s", path_, name), "cannot be replaced", error);
  }
  return absl::OkStatus();
}

void GuardedDirectory::Remove(const std::string& name) const {
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

StatusOr<std::vector<std::string>> GuardedDirectory::List() const {
  FileDescriptor again(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseStream> entries(::fdopendir(again.get()));
  if (entries == nullptr) {
    return FileError(path_, "cannot be listed", errno);
  }
  again.Release();  // `entries` closes it.
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own, used by this thread alone.
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string name = static_cast<const char*>(entry->d_name);
    if (name != "." && name != "..") {
      names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string_view ReplacedBy(std::string_view name) {
  const size_t tail = 1 + kRandomDigits + kSuffix.size();
  if (!name.ends_with(kSuffix) || name.size() <= tail || name[name.size() - tail] != '.') {
    return {};
  }
  const std::string_view digits = name.substr(name.size() - tail + 1, kRandomDigits);
  const bool is_ours = std::ranges::all_of(
      digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return is_ours ? name.substr(0, name.size() - tail) : std::string_view();
}

}  // namespace podgpu
