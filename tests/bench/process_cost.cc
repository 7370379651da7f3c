#include "tests/bench/process_cost.h"

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/status.h"

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

// Adds up what `read` returns for the folder of each thread, by thread name.
template <typename Read>
std::map<std::string, double> SumByThread(pid_t pid, Read read) {
  std::error_code error;
  std::map<std::string, double> sums;
  for (const auto& thread : std::filesystem::directory_iterator(FolderOf(pid) / "task", error)) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    sums[name] += read(thread.path());
  }
  return sums;
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
  // The CPU time of another process, which no Clock gives.
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return 0;
  }
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

std::map<std::string, double> CpuMsByThread(pid_t pid) {
  return SumByThread(pid, [](const std::filesystem::path& thread) {
    double nanoseconds = 0;
    std::ifstream(thread / "schedstat") >> nanoseconds;  // The first of three numbers.
    return nanoseconds / 1e6;
  });
}

std::map<std::string, double> WakeupsByThread(pid_t pid) {
  return SumByThread(pid, [](const std::filesystem::path& thread) {
    std::ifstream status(thread / "status");
    std::string word;
    double switches = 0;
    while (status >> word && word != "voluntary_ctxt_switches:") {
    }
    status >> switches;
    return switches;
  });
}

std::map<std::string, double> MinorFaultsByThread(pid_t pid) {
  constexpr int kWordsBefore = 7;  // After the name in parentheses, which may contain blanks.
  return SumByThread(pid, [](const std::filesystem::path& thread) {
    std::ifstream stat(thread / "stat");
    std::string word;
    std::getline(stat, word, ')');
    for (int i = 0; i < kWordsBefore; ++i) {
      stat >> word;
    }
    double faults = 0;
    stat >> faults;
    return faults;
  });
}

int64_t ThreadsOf(pid_t pid) { return CountEntries(FolderOf(pid) / "task"); }

int64_t DescriptorsOf(pid_t pid) { return CountEntries(FolderOf(pid) / "fd"); }

double GrowthExponent(const std::vector<std::pair<double, double>>& points) {
  PODGPU_CHECK(points.size() >= 2);
  double mean_x = 0;
  double mean_y = 0;
  for (const auto& [size, cost] : points) {
    mean_x += std::log(size) / static_cast<double>(points.size());
    mean_y += std::log(cost) / static_cast<double>(points.size());
  }
  double covariance = 0;
  double variance = 0;
  for (const auto& [size, cost] : points) {
    const double x = std::log(size) - mean_x;
    covariance += x * (std::log(cost) - mean_y);
    variance += x * x;
  }
  return covariance / variance;
}

}  // namespace podgpu
