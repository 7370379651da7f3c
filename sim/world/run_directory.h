// The run directory: how processes share one simulated node.
//
// podgpu-sim writes it (world.bin, the state page, control.bin, sockets; run_writer.h); every face
// maps it read-only and evaluates the world at the present world time.  The state page holds the
// clock (real, scaled by a/b, or manual) and the current generations of the control log and of the
// engine.  When the log generation has changed, the next call of world() maps the new image.  Open
// once per process; any thread.  Standard library only, for the faces.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/world/world.h"

namespace podgpu::sim {

class RunDirectory {
 public:
  // Maps the directory `path` (empty: the environment's PODGPU_SIM_DIR).  Null and one line in
  // `error` when there is none or podgpu-sim has not finished writing it.
  static std::unique_ptr<RunDirectory> Open(const std::string& path, std::string& error);

  RunDirectory() = default;
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  virtual ~RunDirectory() = default;

  // The world that is in force.  Valid for the life of this object (old images stay mapped).  Costs
  // one load while the control log is unchanged.
  virtual const World& world() = 0;

  // World time now, in microseconds since the epoch.
  virtual TimeUs Now() const = 0;
  // Civil time of world time t: microseconds since 1970.
  virtual int64_t StampUs(TimeUs t) const = 0;
  virtual TimeUs FromStampUs(int64_t stamp_us) const = 0;

  // How often the clock, manual time or the control log has changed.
  virtual uint64_t changes() const = 0;
  // Blocks, as a call does in the driver: until world time `until` (INT64_MAX: no time), or until
  // changes() is not `seen`, and for `limit` of machine time at most.  May return earlier.  Returns
  // what is left of the limit.
  virtual std::chrono::microseconds Sleep(TimeUs until, uint64_t seen,
                                          std::chrono::microseconds limit) const = 0;

  virtual uint64_t log_generation() const = 0;
  virtual uint64_t engine_generation() const = 0;
  // When the engine process was last restarted; 0: it runs since the world began.
  virtual TimeUs engine_began() const = 0;
  // Whether the engine process is listening, as it reports itself.
  virtual bool engine_up() const = 0;
  // Divides the vendor's own time-outs (60 s for a request, 120 s for a connection), so tests need
  // not wait for them; 1 in a faithful world.
  virtual int64_t time_scale() const = 0;
  // Whether reads over TCP and stopping an embedded engine take as long as with the real DCGM.
  virtual bool has_engine_delays() const = 0;
  virtual const std::string& path() const = 0;
};

}  // namespace podgpu::sim
