#include "pages/text_files.h"

#include <algorithm>
#include <sys/types.h>

#include "base/guarded_directory.h"
#include "base/log.h"

namespace podgpu {

TextFiles::Target::Target(const std::string& file, bool with_pods) : path(file), page(with_pods) {
  const size_t slash = path.rfind('/');
  name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  directory = slash == std::string::npos ? "." : path.substr(0, std::max(slash, size_t{1}));
}

TextFiles::TextFiles(TextFileOptions options, const Published<Snapshot>& pages, WriteCounts& counts,
                     Clock& clock)
    : options_(std::move(options)),
      pages_(pages),
      counts_(counts),
      clock_(clock),
      devices_(options_.device_path, false),
      pods_(options_.pod_path, true) {}

void TextFiles::Run(const std::stop_token& stop) {
  do {
    WriteIfNewer(devices_);
    WriteIfNewer(pods_);
  } while (clock_.WaitUntil(clock_.Now() + options_.interval, stop));
  for (const Target* target : {&devices_, &pods_}) {
    if (target->tick > 0) {
      Remove(*target);
    }
  }
}

Status TextFiles::Write(Target& target, std::string_view text) {
  constexpr mode_t kReadableByAll = 0644;
  PODGPU_ASSIGN_OR_RETURN(const GuardedDirectory directory,
                          GuardedDirectory::Open(target.directory));
  if (!target.is_tidy) {
    PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
    for (const std::string& name : names) {
      if (ReplacedBy(name) == target.name) {
        directory.Remove(name);
      }
    }
    target.is_tidy = true;
  }
  return directory.Replace(target.name, text, kReadableByAll);
}

void TextFiles::Remove(const Target& target) {
  if (const auto directory = GuardedDirectory::Open(target.directory); directory.ok()) {
    directory->Remove(target.name);
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
  const Status status = Write(target, page->text());
  if (status.ok()) {
    target.tick = page->parts().tick;
  }
  Note(target, status);
}

// A failure is logged when it begins, or when its reason changes.
void TextFiles::Note(Target& target, const Status& status) {
  (status.ok() ? counts_.written : counts_.failed).fetch_add(1, std::memory_order_relaxed);
  if (target.failure == status.message()) {
    return;
  }
  target.failure = std::string(status.message());
  const std::string& first = devices_.failure.empty() ? pods_.failure : devices_.failure;
  counts_.failure.Set(first.empty() ? nullptr : std::make_shared<const std::string>(first));
  if (status.ok()) {
    Log(LogLevel::kInfo, "the text file is written again", {{"path", target.path}});
  } else {
    Log(LogLevel::kError, "cannot write the text file; retrying in the next interval",
        {{"error", target.failure}});
  }
}

}  // namespace podgpu
