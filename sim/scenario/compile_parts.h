// The types of the compiler: layouts, slots and changes, with names resolved to indices.
//
// compile.cc runs the parts in this order: layouts (which instances exist when), pods (which pods
// hold and run what: slots), eras (the integrals over time).  All types borrow the Scenario and
// live for one compilation.  Only compile*.cc include this.  One thread.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/image_builder.h"
#include "sim/scenario/mig_profiles.h"
#include "sim/scenario/scenario.h"

namespace podgpu::sim {

inline constexpr int64_t kMibBytes = 1 << 20;

struct ComputeInstance {
  int slices = 0, compute_instance_id = 0, entity_id = 0;
  std::string mig_uuid, profile;
};
struct GpuInstance {
  const MigProfile* profile = nullptr;
  size_t written = 0;  // Its position in the scenario's list.
  int start = 0, gpu_instance_id = 0, entity_id = 0;
  std::vector<ComputeInstance> computes;
};
// A GPU's instances, in hierarchy order, from one MIG change to the next.
struct Layout {
  bool mig_enabled = false;
  std::vector<GpuInstance> instances;
  uint32_t record = 0;  // Its LayoutRecord.
};
// The state of a GPU from a time on.
struct GpuChange {
  TimeUs at_us = 0;
  size_t layout = 0;
  int64_t limit_mw = 0, ambient_millic = 0;
  int64_t clock_ppm = kWholePpm;  // Below the whole: throttled, for `why`.
  ThrottleReason why = ThrottleReason::kPower;
};
struct GpuPlan {
  const GpuSpec* spec = nullptr;
  const ClassSpec* board = nullptr;
  std::string uuid;
  std::vector<Layout> layouts;
  std::vector<GpuChange> changes;  // By time, the first at 0.

  const GpuChange& ChangeAt(TimeUs t) const;
};

// The position of a device: hierarchy indices within a layout of the GPU.
struct ResolvedDevice {
  int gpu = 0, instance = -1, compute = -1, replica = -1;
  size_t layout = 0;
  bool good = false;
};

struct SlotPhase {
  TimeUs begin_us = 0;
  Demand demand;
  int64_t memory_bytes = 0;
};
// One process, or the sequence of processes that a churn runs on one device, as a repeating load.
struct Slot {
  ResolvedDevice device;
  TimeUs start_us = 0, stop_us = kForever, period_us = 0;
  std::vector<SlotPhase> phases;
  int64_t k_mw = 0, m_mw = 0, threads_ppm = kWholePpm;
  uint32_t first_channel = 0;
  std::string label;  // "load 'train' (6 s)" for messages.
  std::string who;    // "pid 4101"
  Place place;

  // The phase at t; t must be within the slot's life.
  const SlotPhase& PhaseAt(TimeUs t) const;
};

// The state of one compilation.
struct Compilation {
  Scenario scenario;
  ScenarioErrors* errors = nullptr;
  ScenarioErrors* control_errors = nullptr;
  std::vector<GpuPlan> gpus;
  std::vector<Slot> slots;
  ImageBuilder image;

  void Fail(const Place& place, const std::string& what) const;
  void Fail(const FaultSpec& fault, const std::string& what) const;
};

// Sorts the faults, ends those that are healed, and complains when two make the same claim.
void PlanFaults(Compilation& work);
void WriteFaults(Compilation& work);

// Resolves MIG layouts and limits over time and writes the instances' records.
void PlanGpus(Compilation& work);
void WriteLayouts(Compilation& work);

// Resolves pods, churns and orphans into slots and writes their records.
void PlanPods(Compilation& work);

// The device that `spec` names at t; `physical` allows a whole GPU that is shared by replicas.
ResolvedDevice Resolve(const Compilation& work, const DeviceSpec& spec, TimeUs t, bool physical);

// The record of a device in the allocator's spelling.
DeviceRecord DeviceOf(Compilation& work, const ResolvedDevice& device);

// Cuts the GPU's time into eras and segments, solves each, and writes the tables.
void WriteEras(Compilation& work, size_t gpu);

// "12.5 s", "6 s".
std::string Seconds(TimeUs t);

}  // namespace podgpu::sim
