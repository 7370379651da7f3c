// Records the calls into the vendor libraries: which call runs now, about which GPU, and which was
// the slowest.
//
// TracingLoader gives each known symbol a wrapper that records the call and then makes it, so the
// exporter's own readers are traced without a change.  The vendor's functions have no context
// argument; so there is one trace per process, and the loader may be made once.  Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/library.h"

namespace podgpu {

// One call, and for how long it has been running or ran.
struct TracedCall {
  std::string_view name;
  std::optional<uint32_t> gpu = {};  // NVML's index.
  Duration took{};
};

// Returns for example "nvmlDeviceGetUtilizationRates on GPU 3".
std::string Words(const TracedCall& call);

struct CallSummary {
  size_t calls = 0;  // Number of calls that have returned.
  TracedCall slowest;
};

class TracingLoader final : public LibraryLoader {
 public:
  // Borrows both for the life of the process.
  TracingLoader(LibraryLoader& loader, const Clock& clock);

  StatusOr<void*> Open(const std::string& name) override { return loader_.Open(name); }
  void* Symbol(void* library, const char* symbol) override;

  // Returns the call that has been running for the longest time among those that began at `since`
  // or later; nothing when none runs.
  static std::optional<TracedCall> Running(Instant since);
  // Returns the same for the call that began last.
  static std::optional<TracedCall> Newest(Instant since);
  static CallSummary Summary();
  static void Forget();  // Begins a new summary.

 private:
  LibraryLoader& loader_;
};

}  // namespace podgpu
