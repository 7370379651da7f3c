// XIDs from the driver: an event set on which a separate thread waits.
//
// If the driver is polled now and then, it reports only the last XID, once for each XID that came.
// So a thread waits for events all the time, half a second per call, and stamps each XID when it
// comes.  The thread is restarted when the devices change; the old one first takes the events that
// wait in its set, among them the XID of a GPU that was just lost.  It owns all that it touches;
// when it hangs in the wait, it is written off and counted in the tally.  Everything except
// NvmlSubscription::Run is called on the source thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/foreign_calls.h"
#include "source/nvml/task.h"

namespace podgpu {

// A device, whose XIDs are told by its UUID: a handle is valid only until the next initialisation.
struct NvmlListened {
  abi::nvmlDevice_t handle = nullptr;
  std::string uuid;
  bool operator==(const NvmlListened&) const = default;
};

// An XID event.
struct NvmlXid {
  std::string uuid;
  int64_t code = 0;
  int64_t stamp_us = 0;  // Time at which the wait returned it; since 1970.
};

// Makes an event set and registers each device for XIDs; a task (task.h).
class NvmlSubscription final : public NvmlTask {
 public:
  NvmlSubscription(std::shared_ptr<const abi::NvmlLibrary> nvml, std::vector<NvmlListened> asked)
      : library(std::move(nvml)), devices(std::move(asked)) {}

  void Run() override;

  const std::shared_ptr<const abi::NvmlLibrary> library;
  const std::vector<NvmlListened> devices;

  // The results of the subscription.
  abi::nvmlEventSet_t set = nullptr;     // Null when it could not be made.
  std::vector<NvmlListened> subscribed;  // Devices that report XIDs.
  const char* failed = "";               // The first call that failed; `code` is its result.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;

 private:
  // Returns whether a call succeeded.  Records a failure, except "not supported", which is a
  // property of the board.
  bool Succeeds(abi::nvmlReturn_t result, const char* call);
};

class NvmlEvents {
 public:
  // Borrows `clock`, which outlives this.
  NvmlEvents(const Clock& clock, ThreadTally written_off)
      : clock_(clock), written_off_(std::move(written_off)) {}
  ~NvmlEvents() { Stop(); }
  NvmlEvents(const NvmlEvents&) = delete;
  NvmlEvents& operator=(const NvmlEvents&) = delete;

  // Returns whether the thread listens to exactly these devices, and registering them did not fail.
  bool Follows(const std::vector<NvmlListened>& devices) const {
    return follows_ && devices == devices_;
  }

  // Starts to listen to the event set of `subscription`; stops listening to the previous one.
  // Both sets report an event of the time between; it is kept once.
  void Follow(const NvmlSubscription& subscription);

  // Stops listening and keeps the XIDs that came.  Takes up to half a second, or one second when
  // the thread hangs.
  void Stop();

  // Returns whether XIDs of `device` are reported.
  bool IsSubscribed(abi::nvmlDevice_t device) const;

  // Moves the XIDs that came since the last call to `xids`.
  void Take(std::vector<NvmlXid>& xids);

 private:
  struct Listening;  // Owned by the thread and NvmlEvents.

  const Clock& clock_;
  const ThreadTally written_off_;
  bool follows_ = false;
  std::vector<NvmlListened> devices_;  // Devices of the last subscription.
  std::vector<NvmlXid> left_over_;     // XIDs from threads that have ended.
  std::shared_ptr<Listening> listening_;
  std::thread thread_;
};

}  // namespace podgpu
