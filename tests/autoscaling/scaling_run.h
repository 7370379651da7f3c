// A Deployment whose load rises and falls, scaled by the values of podgpu, on a virtual clock.
//
// A simulated node of eight GPUs; each replica holds one of them and takes its part of the load.
// Every 15 s the node is read through podgpu's own path: driver, page, report, window, answer of
// the external metrics API.  The autoscaler then decides how many replicas there are until the next
// reading.  Because a decision changes the load of each replica, each pair of replicas and load has
// a node of its own, read once and kept.  One thread; tests only.
#pragma once

#include <chrono>
#include <vector>

namespace podgpu {

// What the autoscaler reads.
enum class ScalingSignal {
  kInUse,    // avg_gpu_utilization: the mean over the GPUs in use.
  kAllGpus,  // The mean over all GPUs of the node over the same window.
};

struct ScalingStep {
  std::chrono::seconds at;
  double load;   // Of the whole Deployment, in fully used GPUs.
  int replicas;  // That had this load.
  int busy;      // Utilisation of each replica, in percent.
  double value;  // That the autoscaler read then, in percent.
  int replicas_next;
};

inline constexpr double kScalingTarget = 60;  // Percent.
inline constexpr int kScalingMost = 8;
inline constexpr std::chrono::seconds kScalingDownWindow{300};
// The load is constant, rises, is constant, falls, and is constant again.
inline constexpr std::chrono::seconds kRises{180}, kIsHigh{600}, kFalls{1'020}, kIsLow{1'320},
    kScalingEnds{1'800};
inline constexpr double kLowLoad = 0.5, kHighLoad = 4.2;

std::vector<ScalingStep> RunScaling(ScalingSignal signal);

}  // namespace podgpu
