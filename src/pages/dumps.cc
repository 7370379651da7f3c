#include "pages/dumps.h"

#include <algorithm>
#include <sys/types.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "exposition/gzip.h"
#include "pages/dump_json.h"

namespace podgpu {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1'000};
constexpr size_t kStampLength = 15;  // "20260512-131248"
constexpr size_t kNumberLength = 8;  // "0000002a"

// Returns for example "20260512-131248", in UTC.
std::string StampOf(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return absl::StrFormat("%04d%02d%02d-%02d%02d%02d", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

bool HasForm(std::string_view text, std::string_view form) {
  const auto fits = [](char c, char wanted) {
    const bool digit = c >= '0' && c <= '9';
    return wanted == '0' ? digit : wanted == 'a' ? digit || (c >= 'a' && c <= 'f') : c == wanted;
  };
  return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), fits);
}

// Returns the time and number in the name of a dump file: "20260512-131248-0000002a".
std::string_view OrderOf(std::string_view name) {
  const size_t end = name.find(".json");
  return name.substr(end - kStampLength - 1 - kNumberLength, kStampLength + 1 + kNumberLength);
}

}  // namespace

bool IsDumpName(std::string_view name) {
  for (const std::string_view what : {"metrics-", "deviceinfo-"}) {
    for (const DumpGroup group : kDumpGroups) {
      const std::string begin = std::string(what).append(DumpGroupName(group)).append("-");
      if (name.starts_with(begin)) {
        const std::string_view rest = name.substr(begin.size());
        if (HasForm(rest, "00000000-000000-aaaaaaaa.json") ||
            HasForm(rest, "00000000-000000-aaaaaaaa.json.gz")) {
          return true;
        }
      }
    }
  }
  return false;
}

Dumps::Dumps(DumpOptions options, ViewOptions view, const Published<Snapshot>& pages,
             WriteCounts& counts, std::function<std::vector<Counter>()> counters, Clock& clock)
    : options_(std::move(options)),
      view_(std::move(view)),
      pages_(pages),
      counts_(counts),
      counters_(std::move(counters)),
      clock_(clock) {}

void Dumps::Run(const std::stop_token& stop) {
  do {
    WriteIfNewer();
  } while (clock_.WaitUntil(clock_.Now() + kBetweenLooks, stop));
}

void Dumps::WriteIfNewer() {
  const std::shared_ptr<const Snapshot> page = pages_.Get();
  const Grid* const grid = page == nullptr ? nullptr : page->parts().grid.get();
  if (grid == nullptr || grid->read_at == written_) {
    return;
  }
  written_ = grid->read_at;
  const Status status = Write(*grid);
  ++(status.ok() ? counts_.written : counts_.failed);
  if (failure_ == status.message()) {
    return;
  }
  failure_ = std::string(status.message());
  counts_.failure.Set(status.ok() ? nullptr : std::make_shared<const std::string>(failure_));
  if (status.ok()) {
    Log(LogLevel::kInfo, "dumps are written again", {{"directory", options_.directory}});
  } else {
    Log(LogLevel::kWarn, "cannot write a dump; retrying with the next reading",
        {{"error", failure_}});
  }
}

Status Dumps::Write(const Grid& grid) {
  StatusOr<GuardedDirectory> directory = GuardedDirectory::Make(options_.directory);
  if (!directory.ok()) {
    return absl::UnavailableError(
        absl::StrFormat("%s (--dump-directory)", directory.status().message()));
  }
  PODGPU_RETURN_IF_ERROR(FindOldFiles(*directory));
  Status status = WriteGroups(*directory, grid);
  RemoveOld(*directory, clock_.WallNow());  // After a failure too: the disk may be full.
  return status;
}

Status Dumps::WriteGroups(const GuardedDirectory& directory, const Grid& grid) {
  const std::vector<Counter> counters = counters_();
  const DumpInput input{grid, counters, view_};
  const std::string stamp = StampOf(grid.read_at_wall);
  for (const DumpGroup group : kDumpGroups) {
    std::string metrics = MetricsDump(input, group);
    if (metrics.empty()) {
      continue;
    }
    const std::string_view name = DumpGroupName(group);
    PODGPU_RETURN_IF_ERROR(WriteFile(directory, "metrics", name, stamp, std::move(metrics)));
    PODGPU_RETURN_IF_ERROR(
        WriteFile(directory, "deviceinfo", name, stamp, DeviceInfoDump(input, group)));
  }
  return absl::OkStatus();
}

Status Dumps::WriteFile(const GuardedDirectory& directory, std::string_view what,
                        std::string_view group, const std::string& stamp, std::string text) {
  constexpr mode_t kForUsAlone = 0600;
  std::string name = absl::StrFormat("%s-%s-%s-%08x.json", what, group, stamp, ++number_);
  if (options_.compression) {
    name += ".gz";
    text = Gzip(text);
  }
  PODGPU_RETURN_IF_ERROR(directory.Replace(name, text, kForUsAlone));
  files_.push_back(std::move(name));
  return absl::OkStatus();
}

// Lists the files of earlier runs, and removes partly written files that a killed process left.
Status Dumps::FindOldFiles(const GuardedDirectory& directory) {
  if (is_found_) {
    return absl::OkStatus();
  }
  PODGPU_ASSIGN_OR_RETURN(std::vector<std::string> names, directory.List());
  for (std::string& name : names) {
    if (IsDumpName(ReplacedBy(name))) {
      directory.Remove(name);
    } else if (IsDumpName(name)) {
      files_.push_back(std::move(name));
    }
  }
  std::ranges::sort(files_, {}, OrderOf);
  is_found_ = true;
  return absl::OkStatus();
}

// A file that is gone already, or that podgpu may not remove, leaves the list as well.
void Dumps::RemoveOld(const GuardedDirectory& directory, WallTime now) {
  const std::string oldest =
      options_.retention.count() > 0 ? StampOf(now - options_.retention) : std::string();
  while (!files_.empty() && (files_.size() > options_.most_files ||
                             OrderOf(files_.front()).substr(0, kStampLength) < oldest)) {
    directory.Remove(files_.front());
    files_.pop_front();
  }
}

}  // namespace podgpu
