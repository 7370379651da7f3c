// XIDs, as the driver tells them: an event set, waited on by a thread of its own.
//
// Asked only now and then, the driver tells the last XID once for each that came; so a thread waits
// all the time, half a second a call, and stamps what comes.  The thread is begun anew when the
// devices change.  It owns all that it touches: one that hangs in the wait is written off, counted
// in the tally.  All but the tasks' own Run belongs to the source thread.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "base/foreign_calls.h"
#include "source/nvml/task.h"

namespace podgpu {

// One XID.
struct NvmlXid {
  abi::nvmlDevice_t device = nullptr;
  int64_t code = 0;
  int64_t stamp_us = 0;  // When it was told, since 1970.
};

// Makes an event set and has each device tell of its XIDs to it: a task (task.h).
class NvmlSubscription final : public NvmlTask {
 public:
  NvmlSubscription(std::shared_ptr<const abi::NvmlLibrary> nvml,
                   std::vector<abi::nvmlDevice_t> asked)
      : library(std::move(nvml)), devices(std::move(asked)) {}

  void Run() override;

  const std::shared_ptr<const abi::NvmlLibrary> library;
  const std::vector<abi::nvmlDevice_t> devices;

  // What became of it.
  abi::nvmlEventSet_t set = nullptr;          // Null where there is none.
  std::vector<abi::nvmlDevice_t> subscribed;  // Those that will tell.
  const char* failed = "";                    // The first call that failed, and with what.
  abi::nvmlReturn_t code = abi::NVML_SUCCESS;

 private:
  // Whether a call succeeded; if not, notes it, unless that is the board's nature.
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

  // Whether it listens to these devices, and to all of those that tell.
  bool Follows(const std::vector<abi::nvmlDevice_t>& devices) const {
    return follows_ && devices == devices_;
  }

  // Listens to what `subscription` holds, in place of what it listened to.
  void Follow(const NvmlSubscription& subscription);

  // Ends listening; takes half a second, a whole one when the thread hangs.
  void Stop();

  // Whether `device` would tell of an XID.
  bool IsSubscribed(abi::nvmlDevice_t device) const;

  // Moves what has come since the last time to `xids`.
  void Take(std::vector<NvmlXid>& xids);

 private:
  struct Listening;  // What the thread owns.

  const Clock& clock_;
  const ThreadTally written_off_;
  bool follows_ = false;
  std::vector<abi::nvmlDevice_t> devices_;  // Of the last subscription.
  std::shared_ptr<Listening> listening_;
  std::thread thread_;
};

}  // namespace podgpu
