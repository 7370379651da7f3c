#include "tests/bench/process_cost.h"

#include <ctime>
#include <filesystem>
#include <fstream>

namespace podgpu {
namespace {

std::filesystem::path FolderOf(pid_t pid) {
  return std::filesystem::path("/proc") / std::to_string(pid);
}

int64_t CountEntries(const std::filesystem::path& folder) {
  std::error_code error;
  int64_t count = 0;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       entry != std::filesystem::directory_iterator() && !error; entry.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

Memory MemoryOf(pid_t pid) {
  std::ifstream file(FolderOf(pid) / "smaps_rollup");
  Memory memory;
  std::string line;
  std::getline(file, line);  // The range of addresses.
  std::string name;
  std::string unit;
  for (double kib = 0; file >> name >> kib >> unit;) {
    if (name == "Rss:") {
      memory.resident_kib = kib;
    } else if (name == "Private_Dirty:") {
      memory.private_dirty_kib = kib;
    }
  }
  return memory;
}

double CpuMsOf(pid_t pid) {
  clockid_t clock = 0;
  timespec used{};
  // tidy: allow forbidden-call: the CPU time of another process, which no Clock gives
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return 0;
  }
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

std::map<std::string, double> CpuMsByThread(pid_t pid) {
  std::error_code error;
  std::map<std::string, double> used_ms;
  for (const auto& thread : std::filesystem::directory_iterator(FolderOf(pid) / "task", error)) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    double nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;  // The first of three numbers.
    used_ms[name] += nanoseconds / 1e6;
  }
  return used_ms;
}

int64_t ThreadsOf(pid_t pid) { return CountEntries(FolderOf(pid) / "task"); }

int64_t DescriptorsOf(pid_t pid) { return CountEntries(FolderOf(pid) / "fd"); }

}  // namespace podgpu
