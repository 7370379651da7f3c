// The instances of each GPU over time, and its power limits.
#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "sim/scenario/compile_parts.h"
#include "sim/world/identity.h"

namespace podgpu::sim {

namespace {

constexpr int64_t kReservedMibPerSlice = 13;

// Complains at the event that wrote the layout, or at its place in the scenario.
class LayoutMaker {
 public:
  LayoutMaker(Compilation& work, size_t gpu, const FaultSpec* event)
      : work_(work), gpu_(gpu), event_(event) {}

  Layout Make(const std::vector<MigSpec>& specs, bool mig_enabled, size_t generation) {
    Layout layout;
    layout.mig_enabled = mig_enabled;
    std::vector<MigRequest> requests;
    for (const MigSpec& spec : specs) {
      const MigProfile* const profile = FindProfile(spec);
      if (profile == nullptr) {
        return layout;
      }
      requests.push_back({profile, spec.start});
    }
    CheckMediaExtensions(specs, requests);
    const auto starts = PlaceInstances(requests);
    if (!starts) {
      Fail(specs.front().place,
           "the instances do not fit together on the chip (seven compute and "
           "eight memory slices, fixed starts); drop or shrink one");
      return layout;
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      GpuInstance instance;
      instance.profile = requests[i].profile;
      instance.written = i;
      instance.start = (*starts)[i];
      instance.gpu_instance_id = GpuInstanceId(*instance.profile, instance.start);
      AddComputes(specs[i], instance);
      layout.instances.push_back(std::move(instance));
    }
    Number(layout, generation);
    return layout;
  }

 private:
  void Fail(const Place& place, const std::string& what) const {
    if (event_ != nullptr && event_->from_control) {
      work_.control_errors->Add(place.line, place.column, place.path, what);
    } else {
      work_.Fail(place, what);
    }
  }

  const MigProfile* FindProfile(const MigSpec& spec) const {
    const GpuClass& figures = work_.gpus[gpu_].board->figures;
    const auto profiles = MigProfilesOf(figures.mig_table);
    if (profiles.empty()) {
      Fail(spec.place, "class '" + work_.gpus[gpu_].board->name + "' has no MIG");
      return nullptr;
    }
    std::vector<std::string_view> names;
    for (const MigProfile* profile : profiles) {
      if (profile->name == spec.profile) {
        return profile;
      }
      names.push_back(profile->name);
    }
    if (!spec.profile.empty()) {
      Fail(spec.place, "no profile '" + spec.profile + "' on this class; it has " + Join(names));
    }
    return nullptr;
  }

  void CheckMediaExtensions(const std::vector<MigSpec>& specs,
                            const std::vector<MigRequest>& requests) const {
    bool seen = false;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].profile->media_extensions && seen) {
        Fail(specs[i].place, "at most one instance with +me per GPU");
      }
      seen = seen || requests[i].profile->media_extensions;
    }
  }

  void FailCompute(const Place& place, const std::string& name, const std::string& whole,
                   int left) const {
    std::string what = "compute instance '" + name + "' is not part of " + whole;
    what += " or does not fit: " + std::to_string(left);
    what += " compute slices are left; write <slices>c." + whole;
    Fail(place, what);
  }

  // "1c.3g.40gb" is one slice of a 3g.40gb; the profile's own name spans it.
  void AddComputes(const MigSpec& spec, GpuInstance& instance) const {
    const std::string whole(instance.profile->name);
    const std::string part = "c." + whole;
    int left = instance.profile->compute_slices;
    const auto written = spec.computes.empty() ? std::vector<std::string>{whole} : spec.computes;
    for (const std::string& name : written) {
      int slices = name == whole ? instance.profile->compute_slices : 0;
      for (const int count : {1, 2, 3, 4, 7}) {
        slices = name == std::to_string(count) + part ? count : slices;
      }
      if (slices == 0 || slices > left) {
        FailCompute(spec.place, name, whole, left);
        slices = std::min(1, left);
      }
      left -= slices;
      ComputeInstance compute;
      compute.slices = std::max(slices, 1);
      compute.compute_instance_id = static_cast<int>(instance.computes.size());
      compute.profile = slices == instance.profile->compute_slices
                            ? whole
                            : std::to_string(slices) + "c." + whole;
      instance.computes.push_back(std::move(compute));
    }
  }

  // Sets hierarchy order, entity ids and uuids.
  void Number(Layout& layout, size_t generation) const {
    std::stable_sort(layout.instances.begin(), layout.instances.end(),
                     [](const GpuInstance& a, const GpuInstance& b) {
                       return std::pair(a.profile->order, a.gpu_instance_id) <
                              std::pair(b.profile->order, b.gpu_instance_id);
                     });
    const int first = static_cast<int>(gpu_) * kComputeSlicesPerChip;
    int instances = 0;
    int computes = 0;
    for (GpuInstance& instance : layout.instances) {
      instance.entity_id = first + instances++;
      for (ComputeInstance& compute : instance.computes) {
        compute.entity_id = first + computes++;
        uint64_t key = KeyOf(KeyOf(work_.scenario.seed, Purpose::kMigUuid), uint64_t{gpu_});
        for (const int part : {instance.gpu_instance_id, compute.compute_instance_id,
                               static_cast<int>(generation)}) {
          key = KeyOf(key, static_cast<uint64_t>(part));
        }
        const auto uuid = UuidText(key);
        compute.mig_uuid = "MIG-" + std::string(uuid.data(), uuid.size());
      }
    }
  }

  Compilation& work_;
  size_t gpu_;
  const FaultSpec* event_;
};

// MIG instances, or MIG mode without instances.
void ApplyLayout(Compilation& work, size_t gpu, const FaultSpec& fault, GpuChange& change) {
  GpuPlan& plan = work.gpus[gpu];
  if (plan.spec->sharing != Sharing::kExclusive) {
    work.Fail(fault,
              "GPU " + std::to_string(gpu) + " is shared as a whole; it cannot enter MIG mode");
    return;
  }
  const bool enabled = fault.kind == FaultKind::kMigMode ? fault.Get(FaultNumber::kMigMode) == 1
                                                         : !fault.layout.empty();
  if (enabled && plan.board->figures.mig_table.empty()) {
    work.Fail(fault, "class '" + plan.board->name + "' has no MIG");
    return;
  }
  LayoutMaker maker(work, gpu, &fault);
  plan.layouts.push_back(maker.Make(fault.layout, enabled, plan.layouts.size()));
  change.layout = plan.layouts.size() - 1;
}

// One step of a fault that changes the state of its GPU: its begin, its end, or a step of a ramp.
struct Step {
  TimeUs at_us = 0;
  bool begins = false;
  const FaultSpec* fault = nullptr;
  int64_t ambient_millic = 0;
};

// The air warms up in steps; the GPU's temperature follows each.
void AddThermal(const FaultSpec& fault, int64_t usual_millic, std::vector<Step>& steps) {
  const int64_t count = fault.Has(FaultNumber::kRampUs) ? 10 : 1;
  const TimeUs ramp_us = count > 1 ? fault.Get(FaultNumber::kRampUs) : 0;
  const int64_t rise_millic = fault.Get(FaultNumber::kAmbientMillic) - usual_millic;
  for (int64_t i = 0; i < count; ++i) {
    steps.push_back({fault.at_us + ramp_us * i / count, true, &fault,
                     usual_millic + rise_millic * (i + 1) / count});
  }
}

// Applies the faults of a GPU to its plan, by time; at equal times ends come first.
std::vector<Step> StepsOf(const Compilation& work, size_t gpu) {
  std::vector<Step> steps;
  for (const FaultSpec& fault : work.scenario.faults) {
    if (static_cast<size_t>(fault.gpu) != gpu) {
      continue;
    }
    switch (fault.kind) {
      case FaultKind::kThermal:
        AddThermal(fault, work.gpus[gpu].spec->ambient_millic, steps);
        break;
      case FaultKind::kMigMode:
      case FaultKind::kMigSet:
      case FaultKind::kPowerLimit:
      case FaultKind::kThrottle:
        steps.push_back({fault.at_us, true, &fault, 0});
        break;
      default:
        continue;
    }
    const bool layout = fault.kind == FaultKind::kMigSet || fault.kind == FaultKind::kMigMode;
    if (!layout && fault.until_us != kForever) {
      steps.push_back({fault.until_us, false, &fault, 0});
    }
  }
  std::ranges::stable_sort(steps, [](const Step& a, const Step& b) {
    return std::pair(a.at_us, a.begins) < std::pair(b.at_us, b.begins);
  });
  // A fault that was healed during its ramp stops there.
  std::erase_if(steps,
                [](const Step& step) { return step.begins && step.at_us >= step.fault->until_us; });
  return steps;
}

void Apply(Compilation& work, size_t gpu, const Step& step, GpuChange& change) {
  const FaultSpec& fault = *step.fault;
  const GpuPlan& plan = work.gpus[gpu];
  switch (fault.kind) {
    case FaultKind::kPowerLimit:
      change.limit_mw =
          step.begins ? fault.Get(FaultNumber::kLimitMw) : plan.board->figures.limit_mw;
      break;
    case FaultKind::kThermal:
      change.ambient_millic = step.begins ? step.ambient_millic : plan.spec->ambient_millic;
      break;
    case FaultKind::kThrottle:
      change.clock_ppm = step.begins ? fault.Get(FaultNumber::kFactorPpm) : kWholePpm;
      change.why = static_cast<ThrottleReason>(fault.Get(FaultNumber::kWhy));
      break;
    default:
      ApplyLayout(work, gpu, fault, change);
  }
}

void PlanGpu(Compilation& work, size_t gpu) {
  GpuPlan& plan = work.gpus[gpu];
  LayoutMaker maker(work, gpu, nullptr);
  plan.layouts.push_back(maker.Make(plan.spec->mig, plan.spec->mig_enabled, 0));
  plan.changes.push_back({.at_us = 0,
                          .layout = 0,
                          .limit_mw = plan.board->figures.limit_mw,
                          .ambient_millic = plan.spec->ambient_millic});
  for (const Step& step : StepsOf(work, gpu)) {
    if (plan.changes.back().at_us != step.at_us) {
      plan.changes.push_back(plan.changes.back());
      plan.changes.back().at_us = step.at_us;
    }
    Apply(work, gpu, step, plan.changes.back());
  }
}

Range WriteComputes(ImageBuilder& image, const GpuInstance& instance) {
  const Range range{CountOf(image.computes), CountOf(instance.computes)};
  for (const ComputeInstance& compute : instance.computes) {
    image.computes.push_back({.mig_uuid = image.Text(compute.mig_uuid),
                              .profile = image.Text(compute.profile),
                              .compute_instance_id = compute.compute_instance_id,
                              .dcgm_entity_id = compute.entity_id,
                              .slices = compute.slices,
                              .first_channel = image.ReserveChannels(kEntityChannelCount)});
  }
  return range;
}

Range WriteInstances(ImageBuilder& image, const Layout& layout) {
  const Range range{CountOf(image.instances), CountOf(layout.instances)};
  for (const GpuInstance& instance : layout.instances) {
    const MigProfile& profile = *instance.profile;
    const int64_t reserved = kReservedMibPerSlice * profile.memory_slices * kMibBytes;
    const uint32_t channel = image.ReserveChannels(kEntityChannelCount);
    image.instances.push_back({.profile = image.Text(profile.name),
                               .memory_total_bytes = profile.memory_mib * kMibBytes,
                               .memory_reserved_bytes = reserved,
                               .gpu_instance_id = instance.gpu_instance_id,
                               .dcgm_entity_id = instance.entity_id,
                               .compute_slices = profile.compute_slices,
                               .memory_slices = profile.memory_slices,
                               .placement_start = instance.start,
                               .profile_id = profile.profile_id,
                               .sm_count = profile.sm_count,
                               .first_channel = channel,
                               .computes = WriteComputes(image, instance)});
  }
  return range;
}

// Every device id that the allocator offers under a layout.
Range WriteOffers(Compilation& work, size_t gpu, size_t number) {
  const GpuPlan& plan = work.gpus[gpu];
  const Layout& layout = plan.layouts[number];
  const auto first = CountOf(work.image.devices);
  ResolvedDevice device{.gpu = static_cast<int>(gpu), .layout = number, .good = true};
  const auto offer = [&] { work.image.devices.push_back(DeviceOf(work, device)); };
  if (!layout.mig_enabled) {
    const bool shared = plan.spec->sharing != Sharing::kExclusive;
    for (int replica = 0; replica < (shared ? plan.spec->replicas : 1); ++replica) {
      device.replica = shared ? replica : -1;
      offer();
    }
  }
  for (size_t i = 0; i < layout.instances.size(); ++i) {
    for (size_t k = 0; k < layout.instances[i].computes.size(); ++k) {
      device.instance = static_cast<int>(i);
      device.compute = static_cast<int>(k);
      offer();
    }
  }
  return {first, CountOf(work.image.devices) - first};
}

}  // namespace

const GpuChange& GpuPlan::ChangeAt(TimeUs t) const {
  const auto after =
      std::upper_bound(changes.begin() + 1, changes.end(), t,
                       [](TimeUs time, const GpuChange& change) { return time < change.at_us; });
  return *(after - 1);
}

void PlanGpus(Compilation& work) {
  for (size_t gpu = 0; gpu < work.scenario.gpus.size(); ++gpu) {
    const GpuSpec& spec = work.scenario.gpus[gpu];
    GpuPlan plan;
    plan.spec = &spec;
    plan.board = &work.scenario.classes.at(spec.class_index);
    const uint64_t key = KeyOf(KeyOf(work.scenario.seed, Purpose::kGpuUuid), uint64_t{gpu});
    const auto uuid = UuidText(key);
    plan.uuid = spec.uuid.empty() ? "GPU-" + std::string(uuid.data(), uuid.size()) : spec.uuid;
    work.gpus.push_back(std::move(plan));
    PlanGpu(work, gpu);
  }
}

void WriteLayouts(Compilation& work) {
  for (size_t gpu = 0; gpu < work.gpus.size(); ++gpu) {
    for (size_t number = 0; number < work.gpus[gpu].layouts.size(); ++number) {
      Layout& layout = work.gpus[gpu].layouts[number];
      layout.record = CountOf(work.image.layouts);
      const Range instances = WriteInstances(work.image, layout);
      const Range devices = WriteOffers(work, gpu, number);
      work.image.layouts.push_back({layout.mig_enabled ? 1U : 0U, 0, instances, devices});
    }
  }
}

}  // namespace podgpu::sim
