#include "base/file_notice.h"

#include <array>
#include <filesystem>
#include <sys/inotify.h>
#include <system_error>

namespace podgpu {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kChanges = IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM |
                              IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

FileNotice::FileNotice(std::string path)
    : path_(std::move(path)), notices_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  Watch();
}

void FileNotice::Watch() {
  if (!notices_.is_open()) {
    return;
  }
  const fs::path folder = FolderOf(path_);
  folder_ = ::inotify_add_watch(notices_.get(), folder.c_str(), kChanges);
  std::error_code error;
  const fs::path target = fs::canonical(path_, error);
  if (!error && FolderOf(target) != folder) {
    // If this fails, the folder of the path is still watched, and the owner looks at intervals.
    ::inotify_add_watch(notices_.get(), FolderOf(target).c_str(), kChanges);
  }
}

bool FileNotice::Take() {
  alignas(inotify_event) std::array<char, 4096> buffer{};
  bool came = false;
  ssize_t count = 0;
  while ((count = ::read(notices_.get(), buffer.data(), buffer.size())) > 0) {
    came = true;
    for (size_t at = 0; at < static_cast<size_t>(count);) {
      // The kernel aligns each notice by padding its name.
      const auto& notice = *reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof notice + notice.len;
      if ((notice.mask & IN_IGNORED) != 0 && notice.wd == folder_) {
        folder_ = -1;  // The folder is gone.
      }
    }
  }
  if (came) {
    Watch();  // The path may lead to another folder now.
  }
  return came;
}

}  // namespace podgpu
