// Reads the processes on this node's GPUs from NVML and /proc.  It is the only reader of processes,
// whichever source gives the device values.
//
// NVML calls run on a separate call thread (base/foreign_call_thread.h), device by device.  When
// one hangs, its thread is written off, the device is left out until that thread returns, and the
// reading continues with the others.  Right after the calls, the caller's thread reads from /proc
// which processes the pids are.  Devices are scanned again every few seconds and after a failure;
// suspended devices are not queried.  While a device is lost or needs a reset, NVML is held only
// during a reading, because only a new initialisation finds a GPU that has returned, and because a
// reset needs all users of the device gone.  Read is called on one thread, Interrupt on any.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/foreign_call_thread.h"
#include "base/interruptible.h"
#include "process/identity_cache.h"
#include "process/proc_reader.h"
#include "process/process_reading.h"
#include "source/nvml/device_scan.h"
#include "source/nvml/gpm.h"
#include "source/nvml/process_device.h"
#include "source/nvml/task.h"

namespace podgpu {

struct NvmlProcessesOptions {
  std::string proc_root = "/proc";  // A /proc with the host's pids.
  const Files* sysfs = nullptr;  // Tells which devices are suspended; may be null; outlives this.
  std::chrono::milliseconds scan_every{5000};  // Interval of the device scans.
  bool enable_accounting = false;              // Switch accounting on when it is off.
  ThreadTally written_off = NewThreadTally();  // Counts calls that hang.
};

class NvmlProcesses final : public Interruptible {
 public:
  // Borrows `files` and `clock`, which outlive it.
  NvmlProcesses(abi::NvmlLibrary library, NvmlProcessesOptions options, const Files& files,
                const Clock& clock);
  ~NvmlProcesses() override;
  NvmlProcesses(const NvmlProcesses&) = delete;
  NvmlProcesses& operator=(const NvmlProcesses&) = delete;

  // Reads all devices that can be read.  Returns the failure of a call that is about no device.
  Status Read(ProcessReading& reading);
  void Interrupt() noexcept override { call_thread_.GiveUp(); }

  // Releases the devices; the next Read opens them again.  May hang and be interrupted like Read.
  void Release() { Close(); }
  // Like Source::ReleaseReason, as of the last scan.
  std::string ReleaseReason() const;
  // Turns the reading of profiling counters on or off, from the next Read on; off leaves them to
  // other programs.
  void SetProfiling(bool profiles) { profiles_ = profiles; }

  // UUIDs of the devices, indexed by device number; a number is never reused.
  const std::vector<std::string>& uuids() const { return uuids_; }
  // Returns which facts the last reading could not learn, and why: a sentence without a full stop,
  // or empty.
  std::string Complaint() const;
  // For the status page: the number of devices read and how many of them have accounting on; half a
  // sentence.
  std::string Describe() const;

 private:
  class ReadPass;
  struct Hung {
    uint32_t index = 0;
    std::shared_ptr<NvmlTask> task;  // The task whose thread is written off.
  };

  Status ScanIfDue();
  void TakeDevices(const NvmlDeviceScan& scan, const std::vector<NvmlScannedDevice>& sleepers);
  void NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task);
  Status RunPasses();
  void TakeCodes(const ReadPass& pass, size_t end);
  void Finish(ProcessReading& reading);
  std::string AccountingComplaint() const;
  DeviceNumber NumberOf(const std::string& uuid);
  // Shuts NVML down, unless a call hangs in it.
  void Close();

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const NvmlProcessesOptions options_;
  const Clock& clock_;
  const ProcReader proc_;
  IdentityCache identities_;
  const NvmlSleep sleep_;
  ForeignCallThread call_thread_;
  std::shared_ptr<NvmlSamples> samples_ = std::make_shared<NvmlSamples>();
  bool profiles_ = true;
  bool is_open_ = false;
  std::optional<Instant> scanned_at_;  // Nothing: scan at once.
  bool is_missing_ = false;  // A device is lost, has a release reason, or cannot be identified.
  std::vector<uint32_t> sleepers_;  // Indices of suspended devices at the last scan.
  std::vector<NvmlScannedDevice> found_;
  std::vector<std::shared_ptr<NvmlProcessDevice>> devices_;
  std::vector<Hung> hung_;
  std::shared_ptr<ReadPass> pass_;
  std::vector<bool> is_read_;  // One for each device.
  std::vector<std::string> uuids_;
};

}  // namespace podgpu
