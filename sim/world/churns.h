// The arithmetic of churns: the cycle of a time, and which cycle uses a pid.
//
// Only world_*.cc include this.  Pure functions; any thread.
#pragma once

#include "sim/world/image_pods.h"

namespace podgpu::sim {

// The cycle of a churn at t, and whether its pod is alive at t.
struct ChurnMoment {
  int64_t cycle = 0;
  bool alive = false;
};

inline ChurnMoment MomentOf(const ChurnRecord& churn, TimeUs t) {
  if (t < churn.start_us) {
    return {};
  }
  const int64_t cycle = (t - churn.start_us) / churn.every_us;
  return {cycle, t - churn.start_us - cycle * churn.every_us < churn.life_us};
}

inline TimeUs CycleStart(const ChurnRecord& churn, int64_t cycle) {
  return churn.start_us + cycle * churn.every_us;
}

inline int PidOf(const ChurnRecord& churn, int64_t cycle, uint32_t process) {
  const auto turn = static_cast<int>(cycle % churn.pid_cycles);
  return churn.first_pid + turn * static_cast<int>(churn.processes.count) +
         static_cast<int>(process);
}

// The latest cycle at or before t in which the churn used the pid; -1 when there is none.
inline int64_t CycleOfPid(const ChurnRecord& churn, int pid, TimeUs t) {
  if (t < churn.start_us) {
    return -1;
  }
  const int64_t turn = (pid - churn.first_pid) / static_cast<int>(churn.processes.count);
  const int64_t now = (t - churn.start_us) / churn.every_us;
  return now < turn ? -1 : now - (now - turn) % churn.pid_cycles;
}

inline bool Owns(const ChurnRecord& churn, int pid) {
  return churn.processes.count > 0 && pid >= churn.first_pid &&
         pid - churn.first_pid < static_cast<int64_t>(churn.pid_cycles) * churn.processes.count;
}

}  // namespace podgpu::sim
