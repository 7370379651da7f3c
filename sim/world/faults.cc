// Reads the image's faults once, and finds those in force.
#include <algorithm>
#include <limits>

#include "sim/world/image_world.h"

namespace podgpu::sim {

void ImageWorld::ReadFaults() {
  faults_.reserve(tables_.faults.size());
  for (const FaultRecord& record : tables_.faults) {
    Fault& fault = faults_.emplace_back();
    fault.kind = static_cast<FaultKind>(record.kind);
    fault.gpu = record.gpu;
    fault.at = record.at_us;
    fault.until = record.until_us;
    fault.numbers = record.numbers;
    fault.version = tables_.Text(record.version);
    fault.fields = ImageTables::Slice(tables_.fault_fields, record.fields);
    for (const TextRef pattern : ImageTables::Slice(tables_.fault_calls, record.calls)) {
      fault.calls.push_back(tables_.Text(pattern));
    }
    fault_kinds_ |= FaultBit(fault.kind);
  }
}

TimeUs ImageWorld::NextFaultChange(TimeUs t) const {
  TimeUs next = std::numeric_limits<TimeUs>::max();
  for (const Fault& fault : faults_) {
    for (const TimeUs change : {fault.at, fault.until}) {
      next = change > t ? std::min(next, change) : next;
    }
  }
  return next;
}

const Fault* World::FaultAt(FaultKind kind, TimeUs t) const {
  if ((fault_kinds() & FaultBit(kind)) == 0) {
    return nullptr;
  }
  for (const Fault& fault : faults()) {
    if (fault.kind == kind && fault.InForce(t)) {
      return &fault;
    }
  }
  return nullptr;
}

const Fault* World::FaultAt(FaultKind kind, int gpu, TimeUs t) const {
  if ((fault_kinds() & FaultBit(kind)) == 0) {
    return nullptr;
  }
  for (const Fault& fault : faults()) {
    if (fault.kind == kind && fault.Concerns(gpu) && fault.InForce(t)) {
      return &fault;
    }
  }
  return nullptr;
}

TimeUs World::ClockJumpUs(TimeUs t) const {
  TimeUs sum = 0;
  if ((fault_kinds() & FaultBit(FaultKind::kClockJump)) != 0) {
    for (const Fault& fault : faults()) {
      const bool jumped = fault.kind == FaultKind::kClockJump && fault.InForce(t);
      sum += jumped ? fault.Get(FaultNumber::kSeconds) * kSecondUs : 0;
    }
  }
  return sum;
}

TimeUs World::DriverSince(TimeUs t) const {
  TimeUs since = 0;
  if ((fault_kinds() & FaultBit(FaultKind::kDriverReload)) != 0) {
    for (const Fault& fault : faults()) {
      const bool over = fault.kind == FaultKind::kDriverReload && fault.until <= t;
      since = over ? std::max(since, fault.until) : since;
    }
  }
  return since;
}

}  // namespace podgpu::sim
