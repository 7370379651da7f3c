// Opens sources from options: finds the libraries and constructs the objects.
//
// Opening loads a library but does not connect; the first Discover connects.  Beside DCGM, NVML is
// loaded when the first topology needs it.  The loader and the clock must outlive the source.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/foreign_calls.h"
#include "base/library.h"
#include "base/status.h"
#include "sample/findings.h"
#include "source/nvml/processes.h"
#include "source/nvml/source.h"
#include "source/pci_bus.h"
#include "source/source.h"

namespace podgpu {

// The library that gives device facts. kAuto: DCGM when an engine or its library is named (NVML in
// place of an engine: MayStandIn), else as auto_source.h says.
enum class SourceKind : uint8_t { kAuto, kDcgm, kNvml };

struct SourceOptions {
  SourceKind kind = SourceKind::kAuto;
  std::string dcgm_library;         // Path of libdcgm; empty: search.
  std::string nvml_library;         // Path of libnvidia-ml; empty: search.
  std::string proc_root = "/proc";  // A /proc with the host's pids.
  bool enable_accounting = false;   // Switch NVML's process accounting on.
  const Files* sysfs =
      nullptr;          // Tells which devices are suspended; may be null; outlives the source.
  std::string address;  // Address of a remote engine (dcgm/connection.h); empty: embedded.
  bool rows_are_of_this_node = true;  // The rows of the engine at `address`.
  std::chrono::milliseconds connect_timeout{5000};
  // Limit without a fresh sample; then the engine is restarted.
  std::chrono::milliseconds stale_after{5000};
  // With an engine of DCGM 4.6, GPU_UTIL_RATIO is a percentage (DcgmSourceOptions).
  bool util_ratio_is_percent_of_4_6 = false;
  // The metrics that will be asked for; kAuto chooses the source by them.
  std::vector<const Field*> fields = {};
  FindingsAsked asked = {};
};

// Returns kInvalidArgument for a bad address, else the errors of abi::LoadDcgm; these may pass, so
// the caller retries.  `written_off` counts threads whose vendor call has not returned.
StatusOr<std::unique_ptr<Source>> OpenDcgmSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock,
                                                 const ThreadTally& written_off = NewThreadTally());

// Returns the errors of abi::LoadNvml; these may pass, so the caller retries.
StatusOr<std::unique_ptr<NvmlSource>> OpenNvmlSource(
    const SourceOptions& options, LibraryLoader& loader, Clock& clock,
    const ThreadTally& written_off = NewThreadTally());

// Opens the reader of processes, which runs beside either source; same errors.  `files` must
// outlive it.
StatusOr<std::unique_ptr<NvmlProcesses>> OpenProcesses(
    const SourceOptions& options, LibraryLoader& loader, const Files& files, const Clock& clock,
    const ThreadTally& written_off = NewThreadTally());

// Opens the source that `options.kind` selects.
StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options, LibraryLoader& loader,
                                             Clock& clock,
                                             const ThreadTally& written_off = NewThreadTally());

// Returns whether NVML is read in place of the host engine at `options.address` while libdcgm
// cannot be loaded: not if the operator wants DCGM alone, or the GPUs of another machine.
bool MayStandIn(const SourceOptions& options);

// Explains why no driver can be used, from `options.sysfs`, which must not be null.  Tells nothing
// of a remote engine, which may be on another machine.
NoDriver ExplainNoDriver(const SourceOptions& options);

}  // namespace podgpu
