// The writing side of a run directory: how podgpu-sim and tests change a simulated node.
//
// Create makes a directory (world.bin, state, lib/ with links to the shared objects, kubelet/) that
// faces can open at once.  Attach opens an existing one, so a command such as `podgpu-sim tick`
// acts on a node that another process runs.  Writers do not know each other: a writer holds a
// DirectoryLock while it publishes a log or changes the clock.  The object keeps the state page
// mapped; the directory stays when the object is destroyed.  One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/world/state_page.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// The minimum real time between publishing an entry of the control log and its effect, so every
// face has mapped the new image by then.
inline constexpr std::chrono::milliseconds kControlLead{50};

// A speed as two whole numbers, both at least 1.
struct Speed {
  int64_t numerator = 1;
  int64_t denominator = 1;
};

struct RunOptions {
  std::string directory = {};               // Created if missing.
  std::vector<std::string> lib_links = {};  // Shared objects to link from lib/, by absolute path.
  ClockMode mode = ClockMode::kReal;        // kManual starts at time 0.
  Speed speed = {};                         // Of kScaled.
  int64_t time_scale = 1;                   // See StatePage.
  bool engine_delays = true;                // See StatePage; a manual clock starts without.
};

// Holds the directory's lock for a scope; other podgpu-sim commands on it wait.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int file_;
};

class RunWriter {
 public:
  // Writes a new node of `world_image` into options.directory and replaces an old one; the new
  // epoch is now.  Fails when the directory cannot be written, or when its path is so long that
  // socket paths exceed the kernel's limit.
  static StatusOr<RunWriter> Create(const RunOptions& options,
                                    std::span<const std::byte> world_image);
  // Maps the state page of an existing node.
  static StatusOr<RunWriter> Attach(const std::string& directory);

  RunWriter(RunWriter&& other) noexcept;
  RunWriter& operator=(RunWriter&&) = delete;
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;
  ~RunWriter();

  TimeUs Now() const;
  ClockMode mode() const;
  // The world time that passes in `real` machine time: 0 with a manual clock.
  TimeUs WorldTimeOf(std::chrono::microseconds real) const;
  const std::string& directory() const { return directory_; }
  uint64_t log_generation() const { return page_->log_generation.load(); }

  // Continues from the present world time at another speed: 1/1 is real, all others scaled.
  void SetSpeed(Speed speed);
  // Stops the clock at the present world time; Tick moves it from there.
  void SetManual();
  // Moves a manual clock forward; kFailedPrecondition on a clock that runs by itself.
  Status Tick(TimeUs step);

  // Publishes `image`: control.tmp, fsync, rename to control.bin, then the generation.
  Status PublishControl(std::span<const std::byte> image);

  // Counts one more engine process; returns its generation, which no earlier engine had.
  uint64_t BeginEngine();
  void SetEngineUp(bool up);
  // Whether calls take as long as with the real DCGM.
  void SetEngineDelays(bool delays) { page_->engine_delays = delays ? 1 : 0; }
  bool engine_up() const { return page_->engine_up.load(std::memory_order_acquire) == 1; }

 private:
  RunWriter(std::string directory, StatePage* page)
      : directory_(std::move(directory)), page_(page) {}
  void ChangeClock(ClockMode mode, Speed speed);
  // Wakes the calls that wait for a change of the page.
  void TellChange();

  std::string directory_;
  StatePage* page_;  // Mapped shared and writable; unmapped with the object.
};

// The same check for every socket of a run directory.
Status CheckRunDirectory(const std::string& directory);

// kInvalidArgument when `path` is longer than the name of a unix socket may be (107 bytes).
Status CheckSocketPath(const std::string& path);

// Writes `bytes` to a temporary file beside `path`, then renames it: readers see the old file or
// the new one.
Status ReplaceFile(const std::string& path, std::span<const std::byte> bytes);

}  // namespace podgpu::sim
