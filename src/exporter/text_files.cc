#include "exporter/text_files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/file_descriptor.h"
#include "base/log.h"

namespace podgpu {
namespace {

Status FileError(const std::string& path, std::string_view what) {
  return absl::UnavailableError(
      absl::StrFormat("%s: %s: %s", path, what, std::system_category().message(errno)));
}

bool WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    content.remove_prefix(count < 0 ? 0 : static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

Status ReplaceFile(const std::string& path, std::string_view content) {
  constexpr mode_t kReadableByAll = 0644;
  const std::string beside = path + ".swp";  // A name that node-exporter does not read.
  const FileDescriptor file(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadableByAll));
  if (file.get() < 0) {
    return FileError(beside, "cannot be made");
  }
  // The umask took rights away from the mode above.
  if (::fchmod(file.get(), kReadableByAll) != 0 || !WriteAll(file.get(), content)) {
    Status failure = FileError(beside, "cannot be written");
    ::unlink(beside.c_str());
    return failure;
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    return FileError(path, "cannot be replaced");
  }
  return absl::OkStatus();
}

TextFiles::TextFiles(TextFileOptions options, const Published<Snapshot>& pages, WriteCounts& counts,
                     Clock& clock)
    : options_(std::move(options)),
      pages_(pages),
      counts_(counts),
      clock_(clock),
      devices_{options_.device_path, LegacyPage(false)},
      pods_{options_.pod_path, LegacyPage(true)} {}

void TextFiles::Run(const std::stop_token& stop) {
  do {
    WriteIfNewer(devices_);
    WriteIfNewer(pods_);
  } while (clock_.WaitUntil(clock_.Now() + options_.interval, stop));
  for (const Target* target : {&devices_, &pods_}) {
    if (target->tick > 0) {
      ::unlink(target->path.c_str());
    }
  }
}

void TextFiles::WriteIfNewer(Target& target) {
  if (target.path.empty()) {
    return;
  }
  const std::shared_ptr<const Snapshot> page = target.page.Of(pages_.Get());
  if (page == nullptr || page->parts().tick == target.tick) {
    return;
  }
  const Status status = ReplaceFile(target.path, page->text());
  if (status.ok()) {
    target.tick = page->parts().tick;
  }
  Note(target, status);
}

// A failure is said when it begins, or when it becomes another one.
void TextFiles::Note(Target& target, const Status& status) {
  (status.ok() ? counts_.written : counts_.failed).fetch_add(1, std::memory_order_relaxed);
  if (target.failure == status.message()) {
    return;
  }
  target.failure = std::string(status.message());
  if (status.ok()) {
    Log(LogLevel::kInfo, "the text file is written again", {{"path", target.path}});
  } else {
    Log(LogLevel::kError, "the text file is not written; next try at the next turn",
        {{"error", target.failure}});
  }
}

}  // namespace podgpu
