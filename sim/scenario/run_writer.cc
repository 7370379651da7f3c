#include "sim/scenario/run_writer.h"

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <linux/futex.h>
#include <new>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu::sim {
namespace {

constexpr size_t kSocketPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// The servers of a run directory; the kubelet's listens under its temporary name first.
constexpr std::array<std::string_view, 3> kSockets = {"engine.sock", "api.sock",
                                                      "kubelet/kubelet.sock"};

// Files of an earlier node that a new one must not show.
constexpr std::array<std::string_view, 9> kLeftovers = {
    "state",       "control.bin", "control.yaml", "control.accepted",    "engine.sock",
    "engine.addr", "engine.pid",  "api.sock",     "kubelet/kubelet.sock"};

std::string ErrorText(int error) { return std::generic_category().message(error); }

Status FileError(const std::string& path, int error) {
  return Status(absl::ErrnoToStatusCode(error), absl::StrFormat("%s: %s", path, ErrorText(error)));
}

int64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Writes all of `bytes` to `path` and forces it to the disk.
Status WriteAll(const std::string& path, std::span<const std::byte> bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    return FileError(path, errno);
  }
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0) {
      error = errno == EINTR ? 0 : errno;
    } else {
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  if (error == 0 && fsync(file) != 0) {
    error = errno;
  }
  close(file);
  return error == 0 ? absl::OkStatus() : FileError(path, error);
}

// Maps the state page of `directory` writable; `flags` are those of open.
StatusOr<StatePage*> MapPage(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0644);
  if (file < 0) {
    return FileError(path, errno);
  }
  struct stat facts {};
  int error = 0;
  void* start = MAP_FAILED;
  if (((flags & O_CREAT) != 0 && ftruncate(file, kStatePageBytes) != 0) ||
      fstat(file, &facts) != 0) {
    error = errno;
  } else if (facts.st_size < static_cast<off_t>(kStatePageBytes)) {
    error = ENODATA;
  } else {
    start = mmap(nullptr, kStatePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = start == MAP_FAILED ? errno : 0;
  }
  close(file);
  if (error != 0) {
    return FileError(path, error);
  }
  return static_cast<StatePage*>(start);
}

Status MakeTree(const RunOptions& options) {
  const std::filesystem::path root = options.directory;
  std::error_code error;
  for (const char* name : {"kubelet", "lib"}) {
    std::filesystem::create_directories(root / name, error);
    if (error) {
      return FileError((root / name).string(), error.value());
    }
  }
  for (const std::string_view name : kLeftovers) {
    std::filesystem::remove(root / name, error);
  }
  for (const std::string& library : options.lib_links) {
    const std::filesystem::path link = root / "lib" / std::filesystem::path(library).filename();
    std::filesystem::remove(link, error);
    std::filesystem::create_symlink(library, link, error);
    if (error) {
      return FileError(link.string(), error.value());
    }
  }
  return absl::OkStatus();
}

}  // namespace

DirectoryLock::DirectoryLock(const std::string& directory)
    : file_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

DirectoryLock::~DirectoryLock() {
  if (file_ >= 0) {
    close(file_);
  }
}

Status CheckSocketPath(const std::string& path) {
  if (path.size() <= kSocketPathBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: a socket's path may have %d bytes and this has %d; choose a shorter run "
                      "directory with --dir",
                      path, kSocketPathBytes, path.size()));
}

Status CheckRunDirectory(const std::string& directory) {
  for (const std::string_view name : kSockets) {
    PODGPU_RETURN_IF_ERROR(CheckSocketPath(absl::StrFormat("%s/%s", directory, name)));
  }
  return absl::OkStatus();
}

Status ReplaceFile(const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = std::filesystem::path(path).replace_extension(".tmp").string();
  PODGPU_RETURN_IF_ERROR(WriteAll(temporary, bytes));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return FileError(path, errno);
  }
  return absl::OkStatus();
}

StatusOr<RunWriter> RunWriter::Create(const RunOptions& options,
                                      std::span<const std::byte> world_image) {
  PODGPU_RETURN_IF_ERROR(CheckRunDirectory(options.directory));
  PODGPU_RETURN_IF_ERROR(MakeTree(options));
  PODGPU_RETURN_IF_ERROR(ReplaceFile(options.directory + "/world.bin", world_image));
  std::string error;
  const std::unique_ptr<World> world = World::Open(world_image, error);
  if (world == nullptr) {
    return absl::InvalidArgumentError(error);
  }
  PODGPU_ASSIGN_OR_RETURN(StatePage* const page,
                          MapPage(options.directory + "/state", O_CREAT | O_EXCL));
  RunWriter writer(options.directory, page);
  const int64_t boottime_ns = ClockNs(CLOCK_BOOTTIME);
  page->epoch_boottime_ns = boottime_ns;
  page->epoch_realtime_ns =
      world->epoch_unix_us() != 0 ? world->epoch_unix_us() * 1000 : ClockNs(CLOCK_REALTIME);
  page->time_scale = static_cast<uint64_t>(options.time_scale);
  writer.SetEngineDelays(options.engine_delays && options.mode != ClockMode::kManual);
  ClockSlot& clock = page->clocks[0];
  clock.mode = static_cast<uint64_t>(options.mode);
  clock.base_boottime_ns = boottime_ns;
  clock.speed_numerator = options.speed.numerator;
  clock.speed_denominator = options.speed.denominator;
  page->magic.store(kStateMagic, std::memory_order_release);
  return writer;
}

StatusOr<RunWriter> RunWriter::Attach(const std::string& directory) {
  const std::string path = directory + "/state";
  StatusOr<StatePage*> page = MapPage(path, 0);
  if (page.ok() && (*page)->magic.load() != kStateMagic) {
    munmap(*page, kStatePageBytes);
    page = absl::FailedPreconditionError(path + ": not a finished state page of this podgpu-sim");
  }
  if (!page.ok()) {
    return Status(page.status().code(),
                  absl::StrFormat("%s; start a simulated node with `podgpu-sim run SCENARIO --dir "
                                  "%s`",
                                  std::string(page.status().message()), directory));
  }
  return RunWriter(directory, *page);
}

RunWriter::RunWriter(RunWriter&& other) noexcept
    : directory_(std::move(other.directory_)), page_(std::exchange(other.page_, nullptr)) {}

RunWriter::~RunWriter() {
  if (page_ != nullptr) {
    munmap(page_, kStatePageBytes);
  }
}

TimeUs RunWriter::Now() const { return WorldTimeUs(*page_, ClockNs(CLOCK_BOOTTIME)); }

ClockMode RunWriter::mode() const {
  return static_cast<ClockMode>(page_->clocks[page_->clock_generation.load() & 1].mode.load());
}

TimeUs RunWriter::WorldTimeOf(std::chrono::microseconds real) const {
  const ClockSlot& clock = page_->clocks[page_->clock_generation.load() & 1];
  if (mode() == ClockMode::kManual) {
    return 0;
  }
  return static_cast<TimeUs>(Int128{real.count()} * clock.speed_numerator.load() /
                             clock.speed_denominator.load());
}

void RunWriter::SetSpeed(Speed speed) {
  const bool real = speed.numerator == speed.denominator;
  ChangeClock(real ? ClockMode::kReal : ClockMode::kScaled, speed);
}

void RunWriter::SetManual() { ChangeClock(ClockMode::kManual, {}); }

void RunWriter::ChangeClock(ClockMode mode, Speed speed) {
  const uint64_t generation = page_->clock_generation.load() + 1;
  ClockSlot& next = page_->clocks[generation & 1];
  const int64_t boottime_ns = ClockNs(CLOCK_BOOTTIME);
  const TimeUs now = WorldTimeUs(*page_, boottime_ns);
  next.mode = static_cast<uint64_t>(mode);
  next.base_boottime_ns = boottime_ns;
  next.base_world_us = now;
  next.speed_numerator = speed.numerator;
  next.speed_denominator = speed.denominator;
  if (this->mode() != ClockMode::kManual) {
    page_->manual_time_us.store(now);  // Readers ignore it until the new slot is in force.
  }
  page_->clock_generation.store(generation, std::memory_order_release);
  TellChange();
}

void RunWriter::TellChange() {
  page_->changes.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &page_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Status RunWriter::Tick(TimeUs step) {
  if (mode() != ClockMode::kManual) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s: the clock of this node runs by itself; start it with --manual to move it by ticks",
        directory_));
  }
  if (step < 0) {
    return absl::InvalidArgumentError("the step is negative; world time only goes forward");
  }
  page_->manual_time_us.fetch_add(step, std::memory_order_acq_rel);
  TellChange();
  return absl::OkStatus();
}

Status RunWriter::PublishControl(std::span<const std::byte> image) {
  PODGPU_RETURN_IF_ERROR(ReplaceFile(directory_ + "/control.bin", image));
  page_->log_generation.fetch_add(1, std::memory_order_acq_rel);
  TellChange();
  return absl::OkStatus();
}

uint64_t RunWriter::BeginEngine() {
  const uint64_t generation = page_->engine_generation.load() + 1;
  if (generation > 1) {
    page_->engine_began_us = Now();
  }
  page_->engine_generation = generation;
  return generation;
}

void RunWriter::SetEngineUp(bool up) {
  page_->engine_up.store(up ? 1 : 0, std::memory_order_release);
}

}  // namespace podgpu::sim
