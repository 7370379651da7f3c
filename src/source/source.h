// Where device facts come from: one of the five seams to the outside world.
//
// A Source speaks to one vendor library (DCGM embedded or remote; NVML later).  The source thread
// (exporter/reader) is the only caller, except for Interrupt, which the watchdog calls from another
// thread while a call of the source thread hangs.  The cycle: Connect until it succeeds, Discover
// for a Topology, Watch the wanted fields, Read at every period; after a failure that
// `LostConnection` recognises, begin again with Connect.  A Source outlives its thread; it holds no
// thread of its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/interruptible.h"
#include "base/status.h"
#include "fields/field.h"
#include "sample/grid.h"
#include "topology/topology.h"

namespace podgpu {

// What a Watch achieved.
struct WatchResult {
  bool profiling_refused = false;  // Profiling fields are not watched; everything else is.
  std::string reason;              // In plain words, when something was refused.
  bool try_soon = false;  // A whole kind of device is not watched: Watch again at the next reading.
  // More is refused than profiling, or that for another reason than that the node has none.
  bool is_fault = false;
};

// Whether `status` says that the connection, or what was built on it, is gone, so that the cycle
// begins again with Discover.
bool LostConnection(const Status& status);

class Source : public Interruptible {
 public:
  // Connects (or starts the embedded engine), checks that the handle lives, and reads which devices
  // there are, and of the parts around them those of `kinds`. May be called again at any time:
  // after a lost connection it starts afresh, else it only looks again.  Epoch is left 0 for the
  // caller to set.
  virtual StatusOr<Topology> Discover(PartKinds kinds) = 0;

  // Has `fields` sampled every `period` on all entities of `topology`, in place of what was watched
  // before.  Called again with the same after a refusal, it tries only that again.
  virtual StatusOr<WatchResult> Watch(const Topology& topology,
                                      const std::vector<const Field*>& fields,
                                      std::chrono::microseconds period) = 0;

  // Reads the newest samples into `grid`, made for the topology and fields of the last Watch. Every
  // cell is set: to a value, or to the reason why there is none.  A whole-call failure is the
  // Status.
  virtual Status Read(Grid& grid) = 0;

  // Lets go of the hardware and of what holds it: devices are closed, an embedded engine ends.  The
  // next Discover takes them back.
  virtual void Release() = 0;

  // Whether profiling fields are sampled, from the next Watch on; else they are absent as kPaused.
  // On at first.
  virtual void SetProfiling(bool is_on) = 0;

  // Why the driver needs the devices to be let go of, as of the last look; empty: it does not.
  virtual std::string ReleaseReason() const { return ""; }

  // "dcgm 4.6.0, remote engine nvidia-dcgm:5555": for logs and the status page.  Any thread.
  virtual std::string Describe() const = 0;
};

}  // namespace podgpu
