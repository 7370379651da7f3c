#include "process/device_interval.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace podgpu {
namespace {

uint64_t SaturatingSum(uint64_t a, uint64_t b) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  return a > most - b ? most : a + b;
}

auto PlaceOf(const Resident& resident) { return std::tie(resident.process, resident.instance); }
auto PlaceOf(const InstanceActivity& activity) { return std::tie(activity.instance); }

void Join(const Resident& from, Resident& into) {
  into.busy = SaturatingSum(into.busy, from.busy);
  // Keep what was learned in between; a known pod does not become unknown.
  into.listed = into.listed || from.listed;
  into.pod = std::max(into.pod, from.pod);
}

void Join(const InstanceActivity& from, InstanceActivity& into) {
  into.busy = SaturatingSum(into.busy, from.busy);
}

// Sorts `parts` and merges those with equal keys.
template <typename Part>
void Gather(std::vector<Part>& parts) {
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return PlaceOf(a) < PlaceOf(b); });
  size_t kept = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (kept > 0 && PlaceOf(parts[kept - 1]) == PlaceOf(parts[i])) {
      Join(parts[i], parts[kept - 1]);
    } else {
      parts[kept++] = parts[i];
    }
  }
  parts.resize(kept);
}

}  // namespace

void OpenInterval::Add(const DeviceInterval& interval) {
  // The worst of several readings decides. If one had no list or no samples, the weights of the
  // others would leave out a process that was busy in that one.
  residents_known = residents_known && interval.residents_known;
  samples = std::max(samples, interval.samples);
  residents.insert(residents.end(), interval.residents.begin(), interval.residents.end());
  instances.insert(instances.end(), interval.instances.begin(), interval.instances.end());
  Gather(residents);
  Gather(instances);
}

void OpenInterval::Clear() {
  residents_known = true;
  samples = BusySamples::kMeasured;
  residents.clear();
  instances.clear();
}

}  // namespace podgpu
