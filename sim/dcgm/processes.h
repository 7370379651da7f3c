// Process statistics of the simulated engine: dcgmGetPidInfo, by the engine's own definition.
//
// Nearly all values are about the whole GPU while the process lived.  Energy is the last minus the
// first kept sample of the board's counter in that time, whichever process used it, so each of
// several processes gets the whole of it.  The lives of processes come from the driver's accounting
// at the last sample.  The watch switches accounting on for processes that start later; accounting
// ends with the engine and with a driver reload, and MIG mode has none.  Every board of the world
// has an energy counter.  Part of the face: standard library only.  Pure functions of the scene,
// except the watch.
#pragma once

#include <cstdint>

#include "abi/dcgm_process.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

// dcgmWatchPidFields; "requires root" where accounting is off and must not be switched on.
int WatchPids(const Scene& scene, uint64_t group, const WatchTerms& terms);

// dcgmGetPidInfo of `out.pid`; writes nothing unless it succeeds.
int FillPidInfo(const Scene& scene, uint64_t group, abi::dcgmPidInfo_v2& out);

}  // namespace podgpu::sim
