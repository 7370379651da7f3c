// The interface to a vendor library that gives device facts: one of the five seams to the outside
// world.
//
// A Source uses one vendor library: DCGM (embedded or remote) or NVML. Every method is called on
// the source thread (exporter/reader), except Describe, which any thread may call, and Interrupt,
// which the watchdog calls on its own thread while a call of the source thread hangs.  The order of
// calls: Discover until it returns a Topology, Watch the wanted fields, Read at every period.
// After a failure for which `LostConnection` is true, begin again with Discover.  A Source outlives
// the source thread.  It keeps threads only for vendor calls that may hang.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/interruptible.h"
#include "base/status.h"
#include "fields/field.h"
#include "fields/field_collections.h"
#include "sample/grid.h"
#include "topology/topology.h"

namespace podgpu {

// The longest wait on a node that supports none of the requested fields.
inline constexpr std::chrono::seconds kLongestStalePatience{60};

// The result of Watch.
struct WatchResult {
  bool profiling_refused = false;  // Profiling fields are not watched; everything else is.
  std::string reason = {};         // Tells people what was refused, and why.
  bool try_soon = false;  // All devices of a kind are unwatched: Watch again at the next reading.
  // Something besides profiling was refused, or profiling for another reason than that the node has
  // none.
  bool is_fault = false;
  // NVML is read in place of the host engine that the configuration names: which engine and why, as
  // one sentence without a full stop; empty: no.  The remedy belongs to it.
  std::string stand_in = {}, remedy = {};
  std::string note = {};  // What readers of the page must know although nothing is wrong.
};

// Returns true when `status` says that the connection, its groups or its watches are gone, so the
// caller must begin again with Discover.
bool LostConnection(const Status& status);

class Source : public Interruptible {
 public:
  // Connects or starts the embedded engine if necessary, checks that it answers, and returns the
  // GPUs, their instances, and the parts of the given `kinds`. May be called at any time; an open
  // connection is kept.  Leaves `epoch` 0; the caller sets it.
  virtual StatusOr<Topology> Discover(PartKinds kinds) = 0;

  // Makes the engine sample `fields` every `period` on all entities of `topology`; replaces the
  // previous watches.  Called again with the same arguments after a refusal, it retries only what
  // was refused.
  virtual StatusOr<WatchResult> Watch(const Topology& topology,
                                      const std::vector<const Field*>& fields,
                                      std::chrono::microseconds period) = 0;

  // Reads the newest samples into `grid`, which must be made for the topology and fields of the
  // last Watch.  Sets every cell to a value, or to the reason for its absence.  Returns a failure
  // only when a whole call fails.
  virtual Status Read(Grid& grid) = 0;

  // Releases the hardware: closes the devices, ends an embedded engine, disconnects from a remote
  // one.  The next Discover opens them again.
  virtual void Release() = 0;

  // Turns the sampling of profiling fields on or off, from the next Watch on.  While it is off,
  // these fields are absent as kPaused.  It is on at first.
  virtual void SetProfiling(bool is_on) = 0;

  // Sets the fields that are sampled at intervals of their own, from the next Watch on; null: none,
  // as at first.  Read may then be called at the shortest of all intervals.
  virtual void SetCollections(std::shared_ptr<const FieldCollections> collections) = 0;

  // Returns why the driver needs podgpu to release the devices, as of the last Discover; empty when
  // it does not.
  virtual std::string ReleaseReason() const { return ""; }

  // Returns for example "dcgm 4.6.0, remote engine nvidia-dcgm:5555", for logs and the status page.
  // Any thread.
  virtual std::string Describe() const = 0;
};

}  // namespace podgpu
