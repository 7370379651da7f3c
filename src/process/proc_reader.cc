#include "process/proc_reader.h"

#include <chrono>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "process/proc_stat.h"

namespace podgpu {
namespace {

// The kernel starts kthreadd as the second process of the machine (rest_init in init/main.c); no
// other pid namespace contains it.
constexpr uint32_t kKernelThreadsPid = 2;
constexpr std::string_view kKernelThreadsName = "kthreadd";

}  // namespace

bool WasGivenOut(uint32_t pid, uint32_t earlier, uint32_t last) {
  const bool is_after_earlier = pid > earlier;
  const bool is_up_to_last = pid <= last;
  return earlier <= last ? is_after_earlier && is_up_to_last : is_after_earlier || is_up_to_last;
}

std::string ProcReader::PathOf(uint32_t pid, std::string_view file) const {
  return absl::StrFormat("%s/%d/%s", root_, pid, file);
}

ProcView ProcReader::View() const {
  if (const auto text = files_.Read(PathOf(kKernelThreadsPid, "stat")); text.ok()) {
    const auto stat = ParseProcStat(*text);
    return stat && stat->name == kKernelThreadsName ? ProcView::kHost : ProcView::kOwnNamespace;
  }
  if (files_.Read(PathOf(1, "stat")).ok()) {
    return ProcView::kOwnNamespace;
  }
  return files_.Read(root_ + "/stat").ok() ? ProcView::kHidden : ProcView::kMissing;
}

Status ProcReader::Gone(uint32_t pid, const Status& cause) const {
  switch (View()) {
    case ProcView::kHost:
      break;
    case ProcView::kOwnNamespace:
      return absl::FailedPreconditionError(
          absl::StrFormat("%s belongs to another pid namespace than the driver's pids: set "
                          "hostPID, or mount the host's "
                          "/proc",
                          root_));
    case ProcView::kHidden:
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s hides the processes of other users (hidepid): run as root or with gid= of that mount",
          root_));
    case ProcView::kMissing:
      return absl::FailedPreconditionError(absl::StrFormat("%s: no /proc is mounted there", root_));
  }
  if (cause.code() == absl::StatusCode::kPermissionDenied) {
    return cause;
  }
  return absl::NotFoundError(absl::StrFormat("process %d is gone", pid));
}

StatusOr<ProcStat> ProcReader::StatIn(uint32_t pid, const StatusOr<std::string>& text) const {
  if (!text.ok()) {
    return Gone(pid, text.status());
  }
  const std::optional<ProcStat> stat = ParseProcStat(*text);
  if (!stat) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: not in the format of proc(5)", PathOf(pid, "stat")));
  }
  return *stat;
}

std::optional<FileMark> ProcReader::Mark(uint32_t pid) const {
  return files_.Mark(absl::StrCat(root_, "/", pid));
}

std::optional<uint32_t> ProcReader::LastPid() const {
  const StatusOr<std::string> self = files_.ReadLink(root_ + "/self");
  if (!self.ok() || *self != absl::StrCat(::getpid())) {
    return std::nullopt;
  }
  const StatusOr<std::string> text = files_.Read(root_ + "/loadavg");
  const std::optional<uint32_t> pid = text.ok() ? ParseLastPid(*text) : std::nullopt;
  return pid != 0U ? pid : std::nullopt;  // Some sandboxes always say 0 (gVisor).
}

StatusOr<uint64_t> ProcReader::StartTicks(uint32_t pid) const {
  const StatusOr<std::string> text = files_.Read(PathOf(pid, "stat"));
  PODGPU_ASSIGN_OR_RETURN(const ProcStat stat, StatIn(pid, text));
  return stat.start_ticks;
}

std::optional<WallTime> ProcReader::StartedAt(uint64_t start_ticks) const {
  constexpr uint64_t kLastTicks = uint64_t{1} << 40;  // Centuries: all sums below fit.
  const StatusOr<std::string> stat = files_.Read(root_ + "/stat");
  const std::optional<uint64_t> boot = stat.ok() ? ParseBootSeconds(*stat) : std::nullopt;
  const int64_t ticks_per_second = ::sysconf(_SC_CLK_TCK);
  if (!boot || *boot > kLastTicks || start_ticks > kLastTicks || ticks_per_second <= 0) {
    return std::nullopt;
  }
  const auto since_boot_us = static_cast<int64_t>(start_ticks) * 1'000'000 / ticks_per_second;
  return WallTime(std::chrono::seconds(*boot) + std::chrono::microseconds(since_boot_us));
}

StatusOr<ProcessIdentity> ProcReader::Identify(uint32_t pid) const {
  const StatusOr<std::string> text = files_.Read(PathOf(pid, "stat"));
  PODGPU_ASSIGN_OR_RETURN(const ProcStat stat, StatIn(pid, text));
  ProcessIdentity identity;
  identity.key = {.pid = pid, .start_ticks = stat.start_ticks};
  identity.name = ProcessName(stat.name, "");
  if (identity.name.empty()) {
    const StatusOr<std::string> cmdline = files_.Read(PathOf(pid, "cmdline"));
    identity.name = ProcessName("", cmdline.ok() ? std::string_view(*cmdline) : "");
  }
  if (const auto cgroup = files_.Read(PathOf(pid, "cgroup")); cgroup.ok()) {
    identity.place = ParseCgroup(*cgroup);
  }
  if (const auto status = files_.Read(PathOf(pid, "status")); status.ok()) {
    identity.inner_pid = ParseInnerPid(*status);
  }
  identity.started_at = StartedAt(stat.start_ticks);
  // The files above belong to one process only if its start time has not changed.
  PODGPU_ASSIGN_OR_RETURN(const uint64_t start_ticks, StartTicks(pid));
  if (start_ticks != identity.key.start_ticks) {
    return absl::NotFoundError(absl::StrFormat("process %d is gone; its pid is used again", pid));
  }
  return identity;
}

}  // namespace podgpu
