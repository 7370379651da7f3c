// Who runs on this node's GPUs, as NVML and /proc tell: the one reader of processes, whichever
// source device values come from.
//
// Calls are made on a lane of their own (base/foreign_call_thread.h), device by device: one that
// hangs costs its thread and is left out until that returns, and the reading goes on with the
// others. Right after them the caller's thread asks /proc who the pids are.  Devices are looked for
// anew now and then, and when one fails; those that the kernel has suspended are not asked.  While
// one is lost or waits for a reset, NVML is held only during a reading: an initialisation finds a
// GPU that has come back, and NVML counts who holds it.  Read belongs to one thread, Interrupt to
// any.
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
#include "source/nvml/gpm.h"
#include "source/nvml/look.h"
#include "source/nvml/process_device.h"
#include "source/nvml/task.h"

namespace podgpu {

struct NvmlProcessesOptions {
  std::string proc_root = "/proc";  // Of the host's pids.
  const Files* sysfs = nullptr;     // Says which devices sleep; outlives this.  May be left out.
  std::chrono::milliseconds look_every{5000};  // For devices.
  bool enable_accounting = false;              // Switch it on where it is off.
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

  // Reads all devices that can be read.  The Status of a call that is about no device.
  Status Read(ProcessReading& reading);
  void Interrupt() noexcept override { lane_.GiveUp(); }

  // Lets go of the devices; the next Read takes them back.  Hangs and is interrupted as Read.
  void LetGo() { Close(); }
  // As Source::NeedToLetGo, by the last look.
  std::string NeedToLetGo() const;
  // Whether profiling counters are read, from the next Read on; else they are left to others.
  void SetProfiling(bool profiles) { profiles_ = profiles; }

  // The devices by their numbers, which are given once and for good.
  const std::vector<std::string>& uuids() const { return uuids_; }
  // What of the last reading is not known, and why: a sentence without a full stop, or empty.
  std::string Complaint() const;
  // What tells the processes of how many devices, and of what accounting: half a sentence.
  std::string Describe() const;

 private:
  class Round;
  struct Hung {
    uint32_t index = 0;
    std::shared_ptr<NvmlTask> task;  // Whose thread is out.
  };

  Status LookIfDue();
  void TakeDevices(const NvmlLook& look, const std::vector<NvmlFound>& sleepers);
  void NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task);
  Status RunRounds();
  void TakeCodes(const Round& round, size_t end);
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
  ForeignCallThread lane_;
  std::shared_ptr<NvmlSamples> samples_ = std::make_shared<NvmlSamples>();
  bool profiles_ = true;
  bool is_open_ = false;
  std::optional<Instant> looked_at_;  // Nothing: look at once.
  bool is_missing_ = false;  // A device is lost, waits to be let go of, or does not say who it is.
  std::vector<uint32_t> sleepers_;  // By index, at the last look.
  std::vector<NvmlFound> found_;
  std::vector<std::shared_ptr<NvmlProcessDevice>> devices_;
  std::vector<Hung> hung_;
  std::shared_ptr<Round> round_;
  std::vector<bool> is_read_;  // By device.
  std::vector<std::string> uuids_;
};

}  // namespace podgpu
