#include "base/process_usage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace podgpu {
namespace {

// Reads the beginning of a file of /proc in one call. All files read here are shorter than the
// buffer.
template <size_t kBytes>
std::string_view ReadStart(const char* path, std::array<char, kBytes>& buffer) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return {};
  }
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  ::close(descriptor);
  return count > 0 ? std::string_view(buffer.data(), static_cast<size_t>(count))
                   : std::string_view();
}

// The `index`-th word of `text`, counted from 0.
std::string_view Word(std::string_view text, int index) {
  for (int i = 0;; ++i) {
    const size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(begin);
    const size_t end = text.find_first_of(" \n");
    if (i == index) {
      return text.substr(0, end);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
}

std::optional<int64_t> Number(std::string_view word) {
  const std::optional<uint64_t> number = ParseDecimal(word);
  return number ? std::optional<int64_t>(static_cast<int64_t>(*number)) : std::nullopt;
}

// Returns the words of /proc/self/stat after the parenthesised name, which may contain blanks; word
// 0 is the state.
std::string_view AfterName(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::string_view() : stat.substr(end + 1);
}

// Counts the entries of /proc/self/fd with the bare system call, because opendir and readdir
// allocate.
std::optional<int64_t> CountDescriptors() {
  struct Entry {  // linux_dirent64 up to the name, from the kernel's user interface.
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
  };
  const int directory = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    return std::nullopt;
  }
  alignas(Entry) std::array<char, 4096> buffer{};
  int64_t count = 0;
  while (true) {
    const int64_t bytes = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (bytes <= 0) {
      break;
    }
    for (int64_t at = 0; at < bytes; ++count) {
      uint16_t length = 0;
      std::memcpy(&length, buffer.data() + at + offsetof(Entry, length), sizeof length);
      at += length;
    }
  }
  ::close(directory);
  return count - 3;  // Without ".", ".." and the directory's own descriptor.
}

double CpuSeconds() {
  rusage times{};
  if (::getrusage(RUSAGE_SELF, &times) != 0) {
    return 0;
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(times.ru_utime) + seconds(times.ru_stime);
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  ProcessUsage usage;
  usage.cpu_seconds = CpuSeconds();
  std::array<char, 1024> buffer{};
  const std::string_view statm = ReadStart("/proc/self/statm", buffer);
  const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  if (const std::optional<int64_t> pages = Number(Word(statm, 0))) {
    usage.virtual_bytes = *pages * page_bytes;
  }
  if (const std::optional<int64_t> pages = Number(Word(statm, 1))) {
    usage.resident_bytes = *pages * page_bytes;
  }
  usage.threads = Number(Word(AfterName(ReadStart("/proc/self/stat", buffer)), 17));
  usage.open_descriptors = CountDescriptors();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    usage.max_descriptors = static_cast<int64_t>(limit.rlim_cur);
  }
  return usage;
}

const ProcessUsage& RecentProcessUsage::At(Instant now) {
  if (!first_at_ || now - read_at_ >= std::min<Duration>(kKeptFor, read_at_ - *first_at_)) {
    first_at_ = first_at_.value_or(now);
    read_at_ = now;
    usage_ = ReadProcessUsage();
  } else {
    usage_.cpu_seconds = CpuSeconds();
  }
  return usage_;
}

std::optional<double> ProcessStartSeconds() {
  std::array<char, 8192> buffer{};
  const std::optional<int64_t> ticks =
      Number(Word(AfterName(ReadStart("/proc/self/stat", buffer)), 19));
  const std::string_view system = ReadStart("/proc/stat", buffer);
  const size_t line = system.find("btime ");
  if (!ticks || line == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<int64_t> boot_seconds = Number(Word(system.substr(line), 1));
  if (!boot_seconds) {
    return std::nullopt;
  }
  return static_cast<double>(*boot_seconds) +
         static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace podgpu
