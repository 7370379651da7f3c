#include "sim/world/run_directory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <mutex>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "sim/world/state_page.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kStartOne = "; start a simulated node with `podgpu-sim run SCENARIO`";

// A file mapped read-only; unmapped with the object.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (bytes_.data() != nullptr) {
      munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
  }

  // False, with errno, when there is no such file or it is empty.
  bool Map(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return false;
    }
    struct stat facts {};
    errno = ENODATA;
    void* start = MAP_FAILED;
    if (fstat(file, &facts) == 0 && facts.st_size > 0) {
      start = mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_SHARED, file, 0);
    }
    const int error = errno;
    close(file);
    errno = error;
    if (start == MAP_FAILED) {
      return false;
    }
    bytes_ = {static_cast<const std::byte*>(start), static_cast<size_t>(facts.st_size)};
    return true;
  }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

int64_t BootTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// strerror without its shared buffer.
std::string ErrorText(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

class MappedRunDirectory final : public RunDirectory {
 public:
  explicit MappedRunDirectory(std::string path) : path_(std::move(path)) {}

  // Returns false and one line in `error` when the directory is not usable.
  bool Load(std::string& error) {
    if (!state_.Map(path_ + "/state")) {
      error = path_ + "/state: " + ErrorText(errno);
      error += kStartOne;
      return false;
    }
    if (state_.bytes().size() < kStatePageBytes || page().magic.load() != kStateMagic) {
      error = path_ + "/state: not a finished state page of this podgpu-sim";
      error += kStartOne;
      return false;
    }
    return MapWorld(page().log_generation.load(std::memory_order_acquire), error);
  }

  const World& world() override {
    const uint64_t wanted = page().log_generation.load(std::memory_order_acquire);
    if (wanted != mapped_generation_.load(std::memory_order_acquire)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::string error;  // The next call tries an unmappable image again.
      if (wanted != mapped_generation_.load(std::memory_order_relaxed)) {
        MapWorld(wanted, error);
      }
    }
    return *current_.load(std::memory_order_acquire);
  }

  TimeUs Now() const override { return WorldTimeUs(page(), BootTimeNs()); }

  uint64_t changes() const override { return page().changes.load(std::memory_order_acquire); }
  std::chrono::microseconds Sleep(TimeUs until, uint64_t seen,
                                  std::chrono::microseconds limit) const override {
    constexpr int64_t kUsPerS = 1'000'000;
    const int64_t begun_ns = BootTimeNs();
    const int64_t us = std::min(limit.count(), MicrosecondsUntil(page(), until, begun_ns));
    const timespec wait{.tv_sec = us / kUsPerS, .tv_nsec = us % kUsPerS * 1000};
    // Returns at once when the word is no longer the lower half of `seen`.
    syscall(SYS_futex, &page().changes, FUTEX_WAIT, static_cast<uint32_t>(seen), &wait, nullptr, 0);
    return limit - std::chrono::microseconds((BootTimeNs() - begun_ns) / 1000);
  }

  int64_t StampUs(TimeUs t) const override { return page().epoch_realtime_ns.load() / 1000 + t; }
  TimeUs FromStampUs(int64_t stamp_us) const override {
    return stamp_us - page().epoch_realtime_ns.load() / 1000;
  }

  uint64_t log_generation() const override {
    return page().log_generation.load(std::memory_order_acquire);
  }
  uint64_t engine_generation() const override {
    return page().engine_generation.load(std::memory_order_acquire);
  }
  TimeUs engine_began() const override { return page().engine_began_us.load(); }
  bool engine_up() const override { return page().engine_up.load(std::memory_order_acquire) == 1; }
  int64_t time_scale() const override { return static_cast<int64_t>(page().time_scale.load()); }
  bool has_engine_delays() const override { return page().engine_delays.load() == 1; }
  const std::string& path() const override { return path_; }

 private:
  struct Image {
    Mapping file;
    std::unique_ptr<World> world;
  };

  const StatePage& page() const {
    return *reinterpret_cast<const StatePage*>(state_.bytes().data());
  }

  // Makes the image of log generation `generation` the current one.
  bool MapWorld(uint64_t generation, std::string& error) {
    const std::string name = path_ + (generation == 0 ? "/world.bin" : "/control.bin");
    Image image;
    if (!image.file.Map(name)) {
      error = name + ": " + ErrorText(errno);
      error += kStartOne;
      return false;
    }
    image.world = World::Open(image.file.bytes(), error);
    if (image.world == nullptr) {
      error.insert(0, name + ": ");
      return false;
    }
    images_.push_back(std::move(image));
    current_.store(images_.back().world.get(), std::memory_order_release);
    mapped_generation_.store(generation, std::memory_order_release);
    return true;
  }

  const std::string path_;
  Mapping state_;
  std::mutex mutex_;           // Guards images_: calls come from any thread of the loading program.
  std::vector<Image> images_;  // Every image so far; callers may still read old ones.
  std::atomic<const World*> current_{nullptr};
  std::atomic<uint64_t> mapped_generation_{0};
};

}  // namespace

std::unique_ptr<RunDirectory> RunDirectory::Open(const std::string& path, std::string& error) {
  std::string chosen = path;
  if (chosen.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, at the first vendor call.
    const char* variable = getenv("PODGPU_SIM_DIR");
    if (variable == nullptr || *variable == '\0') {
      error = "PODGPU_SIM_DIR is not set; it names the run directory of a simulated node";
      error += kStartOne;
      return nullptr;
    }
    chosen = variable;
  }
  auto directory = std::make_unique<MappedRunDirectory>(std::move(chosen));
  if (!directory->Load(error)) {
    return nullptr;
  }
  return directory;
}

}  // namespace podgpu::sim
