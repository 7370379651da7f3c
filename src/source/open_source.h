// From options to a ready Source: finds the libraries and puts the parts together.
//
// Opening loads a library but connects to nothing; the first Discover does.  Beside DCGM, NVML is
// looked for when the first topology needs it.  The loader and the clock outlive the source.
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
#include "source/source.h"

namespace podgpu {

// Which library device facts come from.  kAuto: DCGM where an engine or its library is named, or
// where its energy of processes is asked for; else as auto_source.h says.
enum class SourceKind : uint8_t { kAuto, kDcgm, kNvml };

struct SourceOptions {
  SourceKind kind = SourceKind::kAuto;
  std::string dcgm_library;         // Path of libdcgm; empty: searched for.
  std::string nvml_library;         // Path of libnvidia-ml; empty: searched for.
  std::string proc_root = "/proc";  // Where pids are the host's.
  bool enable_accounting = false;   // Of processes, by NVML.
  const Files* sysfs = nullptr;  // Says which devices sleep; outlives the source.  May be left out.
  std::string address;           // Of a remote engine (dcgm/connection.h); empty: embedded.
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds stale_after{5000};  // Without a fresh number the engine is begun anew.
  // Asks for DCGM's own energy of processes, which only DCGM has; null: nobody does.
  // What will be asked for, to choose by.
  std::vector<const Field*> fields = {};
  FindingsAsked asked = {};
};

// kInvalidArgument for a bad address; otherwise as abi::LoadDcgm, and worth another try later.
// `written_off` counts the threads that hang in a vendor call for good.
StatusOr<std::unique_ptr<Source>> OpenDcgmSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock,
                                                 const ThreadTally& written_off = NewThreadTally());

// As abi::LoadNvml, and worth another try later.
StatusOr<std::unique_ptr<NvmlSource>> OpenNvmlSource(
    const SourceOptions& options, LibraryLoader& loader, Clock& clock,
    const ThreadTally& written_off = NewThreadTally());

// The reader of processes, beside either: errors likewise.  `files` outlive it.
StatusOr<std::unique_ptr<NvmlProcesses>> OpenProcesses(
    const SourceOptions& options, LibraryLoader& loader, const Files& files, const Clock& clock,
    const ThreadTally& written_off = NewThreadTally());

// Whichever `options.kind` names.
StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options, LibraryLoader& loader,
                                             Clock& clock,
                                             const ThreadTally& written_off = NewThreadTally());

}  // namespace podgpu
