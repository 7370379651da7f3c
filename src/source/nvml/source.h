// Device facts from NVML only, for nodes without DCGM.
//
// Gives the same fields, units and rounding as DCGM where NVML can (catalogue.h); other fields are
// absent with that reason.  All calls except the wait for events run on a call thread
// (base/foreign_call_thread.h), device by device.  When one hangs in the driver, its thread is
// written off and the reading continues with the other devices on a new thread; the hung device
// stays in the topology as unresponsive until its thread returns.  When the driver is unloaded, the
// library is shut down and initialised again.  Threads: as source.h says.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/foreign_call_thread.h"
#include "source/nvml/device.h"
#include "source/nvml/device_scan.h"
#include "source/nvml/events.h"
#include "source/nvml/fill_grid.h"
#include "source/seen_gpus.h"
#include "source/source.h"
#include "source/stale_detector.h"

namespace podgpu {

struct NvmlSourceOptions {
  const Files* sysfs = nullptr;  // Tells which devices are suspended; may be null; outlives this.
  // Limit without a fresh sample; then NVML is restarted.
  std::chrono::milliseconds stale_after{5000};
  ThreadTally written_off = NewThreadTally();  // Counts calls that hang.
};

class NvmlSource final : public Source {
 public:
  // Borrows `clock`, which outlives the source.
  NvmlSource(abi::NvmlLibrary library, const NvmlSourceOptions& options, Clock& clock);
  NvmlSource(const NvmlSource&) = delete;
  NvmlSource& operator=(const NvmlSource&) = delete;
  ~NvmlSource() override;

  StatusOr<Topology> Discover(PartKinds kinds) override;
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override;
  Status Read(Grid& grid) override;
  void Interrupt() noexcept override { call_thread_.GiveUp(); }
  void Release() override { Close(); }
  void SetProfiling(bool is_on) override { profiles_ = is_on; }
  void SetCollections(std::shared_ptr<const FieldCollections> collections) override {
    collections_ = collections == nullptr ? FieldCollections() : *collections;
  }
  std::string ReleaseReason() const override;
  std::string Describe() const override;

  // Returns those of `fields` that NVML cannot give for the GPUs of the last scan: there is no call
  // for the field, or it needs GPM, which a GPU lacks.
  std::vector<const Field*> FieldsLacked(const std::vector<const Field*>& fields) const;

 private:
  // A device that hangs, or whose return has not been noticed yet.
  struct Hung {
    uint32_t index = 0;
    Gpu gpu;  // The GPU as last seen; without a UUID when it was never identified.
    std::shared_ptr<NvmlTask> task;  // The task whose thread is written off.
  };

  void SetAwakeDevices();
  // Scans the devices; repeats the scan without each device that hangs.
  StatusOr<std::shared_ptr<NvmlDeviceScan>> Scan();
  // Returns those of fields_ that the GPUs of the last scan lack; null: none.
  std::shared_ptr<const LackedFields> Lacking() const;
  // Closes the library from time to time while a GPU is lost, because only a new initialisation
  // finds a GPU that has returned.
  void CloseIfDeviceLost();
  void NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task);
  void ForgetReturned();
  std::vector<uint32_t> LeftOut() const;
  Topology MakeTopology(const NvmlDeviceScan& scan);
  // Returns in words what was searched for and is missing in the topology.
  std::string AbsencesOf(const NvmlDeviceScan& scan, PartKinds kinds, bool has_no_gpu) const;
  void MakeDevices(const NvmlDeviceScan& scan);
  // Listens to the devices' XIDs.  A device that hangs while it is registered is left out.
  void FollowEvents();
  void BindSlots();
  void BindSlot(NvmlSlot& slot);
  bool IsHung(const std::string& uuid) const;
  bool IsHung(uint32_t index) const;
  // Reads all devices except those that hang.
  Status RunPasses();
  Status ContinueWithout(int place);
  Status TakeCodes(size_t end);
  Status DisconnectIfStale(const Grid& grid);
  // Stops the events and shuts the library down.
  void Close();

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_ = std::make_shared<NvmlSamples>();
  Clock& clock_;
  ForeignCallThread call_thread_;
  bool is_open_ = false;
  std::string driver_version_;
  std::vector<NvmlScannedDevice> found_;  // Found by the last scan; no handles while shut down.
  bool has_unknown_sleepers_ = false;     // Suspended devices exist that were never identified.
  std::vector<Hung> hung_;
  SeenGpus seen_;
  std::vector<std::shared_ptr<NvmlDevice>> devices_;
  NvmlEvents events_;
  std::string events_absence_;             // Why XIDs of some devices are not reported.
  std::shared_ptr<NvmlTask> events_hung_;  // Hangs in a call that is about no device.
  NvmlHistory history_;

  FieldCollections collections_;
  FieldCollections planned_collections_;  // Those of plan_.
  std::vector<const Field*> fields_;      // Argument of the last Watch.
  std::shared_ptr<const NvmlPlan> plan_;
  std::shared_ptr<const LackedFields> lacked_;  // Those of fields_ that NVML lacks; null: none.
  std::vector<std::optional<size_t>>
      column_of_row_;            // Column of the plan; nothing: NVML cannot give it.
  std::vector<NvmlSlot> slots_;  // One for each GPU of the topology.
  std::shared_ptr<NvmlReadPass> pass_;
  bool profiles_ = true;
  StaleDetector lost_;                                  // A GPU is lost or cannot be identified.
  abi::nvmlReturn_t last_failure_ = abi::NVML_SUCCESS;  // Code of scanning or reading a device.
  const NvmlSleep sleep_;
  const std::chrono::milliseconds stale_after_;
  StaleDetector stale_;
};

}  // namespace podgpu
