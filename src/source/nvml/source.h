// Device facts from NVML alone: no DCGM on the node.
//
// The same fields, units and rounding as from DCGM, where NVML can give them (catalogue.h); a
// field that it cannot give is absent for that reason.  All calls but the wait for events are made
// on a lane (base/foreign_call_thread.h), device by device: one that hangs in the driver costs its
// thread, and the reading goes on with the others on a new one.  It stays in the topology,
// unresponsive, until its thread returns.  When the driver goes away, the library is shut down and
// initialised again.  Threads as source.h says.
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
#include "source/nvml/events.h"
#include "source/nvml/fill_grid.h"
#include "source/nvml/look.h"
#include "source/seen_gpus.h"
#include "source/silence.h"
#include "source/source.h"

namespace podgpu {

struct NvmlSourceOptions {
  const Files* sysfs = nullptr;  // Says which devices sleep; null: none does.  Outlives the source.
  std::chrono::milliseconds mute_after{5000};  // Without a fresh number NVML is begun anew.
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
  void Interrupt() noexcept override { lane_.GiveUp(); }
  void LetGo() override { Close(); }
  void SetProfiling(bool is_on) override { profiles_ = is_on; }
  std::string NeedToLetGo() const override;
  std::string Describe() const override;

  // Those of `fields` that cannot be given of the GPUs that the last look found: NVML has no call
  // for them, or they need GPM, which a GPU lacks.
  std::vector<const Field*> FieldsLacked(const std::vector<const Field*>& fields) const;

 private:
  // A device that hangs, or hung until lately.
  struct Hung {
    uint32_t index = 0;
    Gpu gpu;                         // As it was last seen; without a UUID when it never was.
    std::shared_ptr<NvmlTask> task;  // Whose thread is out.
  };

  void SetAwakeDevices();
  // Looks, again without each device that hangs.
  StatusOr<std::shared_ptr<NvmlLook>> Look();
  // Now and then, in the hope that a lost GPU has come back.
  void BeginAnewIfLost();
  void NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task);
  void ForgetReturned();
  std::vector<uint32_t> LeftOut() const;
  Topology MakeTopology(const NvmlLook& look);
  // In words, what was looked for and is not in a topology.
  std::string AbsencesOf(const NvmlLook& look, PartKinds kinds, bool has_no_gpu) const;
  void MakeDevices(const NvmlLook& look);
  // Listens to the devices' XIDs; one that hangs in being asked to tell them is left out.
  void FollowEvents();
  void TieSlots();
  void TieSlot(NvmlSlot& slot);
  bool IsHung(const std::string& uuid) const;
  bool IsHung(uint32_t index) const;
  // Reads all devices, without those that hang.
  Status RunRounds();
  Status GoOnWithout(int place);
  Status TakeCodes(size_t end);
  Status BreakOffIfMute(const Grid& grid);
  // Shuts the library down.
  void Close();

  const std::shared_ptr<const abi::NvmlLibrary> library_;
  const std::shared_ptr<NvmlSamples> samples_ = std::make_shared<NvmlSamples>();
  Clock& clock_;
  ForeignCallThread lane_;
  bool is_open_ = false;
  std::string driver_version_;
  std::vector<NvmlFound> found_;  // By the last look; without handles when NVML is shut down.
  bool has_strangers_ = false;    // Devices sleep that were never met.
  std::vector<Hung> hung_;
  SeenGpus seen_;
  std::vector<std::shared_ptr<NvmlDevice>> devices_;
  NvmlEvents events_;
  std::string events_absence_;             // Why XIDs are not heard, or not of all devices.
  std::shared_ptr<NvmlTask> events_hung_;  // In a call that is about no device.
  NvmlHistory history_;

  std::vector<const Field*> fields_;  // Given to the last Watch.
  std::shared_ptr<const NvmlPlan> plan_;
  std::vector<std::optional<size_t>> column_of_row_;  // In the plan; nothing: not NVML's.
  std::vector<NvmlSlot> slots_;                       // By GPU of the topology.
  std::shared_ptr<NvmlRound> round_;
  bool profiles_ = true;
  std::optional<Instant> slow_at_;                      // When everything was read.
  Silence lost_;                                        // A GPU is lost, or does not say who it is.
  abi::nvmlReturn_t last_failure_ = abi::NVML_SUCCESS;  // Of looking at a device, or reading it.
  const NvmlSleep sleep_;
  const std::chrono::milliseconds mute_after_;
  Silence mute_;
};

}  // namespace podgpu
