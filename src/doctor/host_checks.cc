#include <bit>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "doctor/checks.h"

namespace podgpu {
namespace {

std::string_view LineWith(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(key)) {
      return Trim(line.substr(key.size()));
    }
  }
  return {};
}

// Returns how many bits of a hexadecimal mask are set.
size_t BitsIn(std::string_view mask) {
  size_t count = 0;
  for (const char digit : mask) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const size_t value = kDigits.find(digit);
    count += value == std::string_view::npos ? 0 : static_cast<size_t>(std::popcount(value));
  }
  return count;
}

bool HasReadOnlyRoot(const Files& files) {
  const std::string mounts = files.Read("/proc/self/mounts").value_or("");
  bool is_read_only = false;
  for (const std::string_view line : Split(mounts, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    constexpr size_t kOptions = 3;
    if (words.size() > kOptions && words[1] == "/") {
      is_read_only = words[kOptions] == "ro" || words[kOptions].starts_with("ro,");
    }
  }
  return is_read_only;
}

// Returns for example "2026-05-12 13:12:48 UTC".
std::string UtcTime(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return absl::StrFormat("%04d-%02d-%02d %02d:%02d:%02d UTC", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

bool IsInContainer(const Session& session) {
  const Files& files = session.seams.files;
  const std::string cgroup = files.Read("/proc/self/cgroup").value_or("");
  return session.seams.environment("KUBERNETES_SERVICE_HOST").has_value() ||
         files.Read("/.dockerenv").ok() || files.Read("/run/.containerenv").ok() ||
         cgroup.find("kubepods") != std::string::npos || cgroup.find("docker") != std::string::npos;
}

Finding CheckKernel(Session& session) {
  const Files& files = session.seams.files;
  const StatusOr<std::string> release = files.Read("/proc/sys/kernel/osrelease");
  if (!release.ok()) {
    return {.severity = Severity::kNote,
            .fact = "/proc/sys/kernel/osrelease is not readable: no /proc is mounted",
            .lose = {"self_facts", "process_view"}};
  }
  const bool is_v2 = files.Read("/sys/fs/cgroup/cgroup.controllers").ok();
  const std::string own = files.Read("/proc/self/cgroup").value_or("");
  const std::string_view driver = own.find(".slice") != std::string::npos ? ", systemd driver"
                                  : own.find("/kubepods/") != std::string::npos
                                      ? ", cgroupfs driver"
                                      : "";
  return Finding::Ok(
      absl::StrFormat("%s, cgroup %s%s", Trim(*release), is_v2 ? "v2" : "v1", driver));
}

Finding CheckClock(Session& session) {
  const std::string time = UtcTime(session.seams.clock.WallNow());
  if (session.seams.system.clock_is_synchronised) {
    return Finding::Ok("synchronised, " + time);
  }
  return {.severity = Severity::kNote,
          .fact = "not synchronised, " + time,
          .lose = {"time_order"},
          .remedy = "start a time service on the node, for example: systemctl enable --now chrony"};
}

Finding CheckRights(Session& session) {
  const Files& files = session.seams.files;
  const std::string status = files.Read("/proc/self/status").value_or("");
  const size_t capabilities = BitsIn(LineWith(status, "CapEff:"));
  return Finding::Ok(absl::StrFormat("uid %d, %s, %s root", session.seams.system.uid,
                                     capabilities == 0 ? "no capabilities"
                                     : capabilities == 1
                                         ? "1 capability"
                                         : absl::StrFormat("%d capabilities", capabilities),
                                     HasReadOnlyRoot(files) ? "read-only" : "writable"));
}

}  // namespace podgpu
