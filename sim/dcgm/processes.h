// What the simulated engine says of a process: dcgmGetPidInfo, by the engine's own definition.
//
// Nearly all of it is about the whole GPU while the process lived.  Energy is the last less the
// first sample of the board's counter that the watch has kept from that time, whoever drew it, so
// that each of several processes is told all of it.  Who has lived is what the driver's accounting
// said at the last sample.  The watch switches accounting on, for the processes that start from
// then on; that goes with the engine, with a reload of the driver, and MIG mode has none.  Every
// board of the world has an energy counter.  Part of the face: standard library only.  Pure
// functions of the scene, but for the watch.
#pragma once

#include <cstdint>

#include "abi/dcgm_process.h"
#include "sim/dcgm/session.h"

namespace podgpu::sim {

// dcgmWatchPidFields; "requires root" where accounting is off and may not be switched on.
int WatchPids(const Scene& scene, uint64_t group, const WatchTerms& terms);

// dcgmGetPidInfo of `out.pid`; nothing is written unless it succeeds.
int FillPidInfo(const Scene& scene, uint64_t group, abi::dcgmPidInfo_v2& out);

}  // namespace podgpu::sim
