// Which instances each GPU has, when, and under which power limit.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"
#include "sim/compile_parts.h"
#include "sim/identity.h"

namespace podgpu::sim {

namespace {

constexpr int64_t kMibBytes = 1 << 20;
constexpr int64_t kReservedMibPerSlice = 13;

// Complains at the event that wrote the layout, or at its place in the scenario.
class LayoutMaker {
 public:
  LayoutMaker(Compilation& work, size_t gpu, const EventSpec* event)
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
        Fail(specs[i].place, "one instance with +me at most on a GPU");
      }
      seen = seen || requests[i].profile->media_extensions;
    }
  }

  void FailCompute(const Place& place, const std::string& name, const std::string& whole,
                   int left) const {
    std::string what = "compute instance '" + name + "' is none of " + whole;
    what += ", or there is no room for it: " + std::to_string(left);
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

  // Hierarchy order, entity ids and uuids.
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
  const EventSpec* event_;
};

// The events of one GPU by time; two of one kind may not claim the same moment.
std::vector<const EventSpec*> EventsOf(const Compilation& work, size_t gpu) {
  std::vector<const EventSpec*> events;
  for (const EventSpec& event : work.scenario.events) {
    if (static_cast<size_t>(event.gpu) == gpu) {
      events.push_back(&event);
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const EventSpec* a, const EventSpec* b) { return a->at_us < b->at_us; });
  std::array<const EventSpec*, 2> last{};
  for (const EventSpec* event : events) {
    const EventSpec*& before = last.at(static_cast<size_t>(event->kind));
    if (before != nullptr && event->at_us < before->at_us + std::max<TimeUs>(before->for_us, 1)) {
      work.Fail(*event, "another entry holds this of GPU " + std::to_string(gpu) + " at " +
                            Seconds(event->at_us) + "; end it first");
    }
    before = event;
  }
  return events;
}

void ApplyMigSet(Compilation& work, size_t gpu, const EventSpec& event, GpuChange& change) {
  GpuPlan& plan = work.gpus[gpu];
  if (plan.spec->sharing != Sharing::kExclusive) {
    work.Fail(event,
              "GPU " + std::to_string(gpu) + " is shared as a whole; it cannot enter MIG mode");
    return;
  }
  LayoutMaker maker(work, gpu, &event);
  plan.layouts.push_back(maker.Make(event.layout, !event.layout.empty(), plan.layouts.size()));
  change.layout = plan.layouts.size() - 1;
}

void PlanGpu(Compilation& work, size_t gpu) {
  GpuPlan& plan = work.gpus[gpu];
  LayoutMaker maker(work, gpu, nullptr);
  plan.layouts.push_back(maker.Make(plan.spec->mig, plan.spec->mig_enabled, 0));
  const int64_t default_mw = plan.board->figures.limit_mw;
  plan.changes.push_back({0, 0, default_mw});
  std::vector<std::pair<TimeUs, const EventSpec*>> steps;  // Null: the limit is the default again.
  for (const EventSpec* event : EventsOf(work, gpu)) {
    steps.emplace_back(event->at_us, event);
    if (event->for_us > 0) {
      steps.emplace_back(event->at_us + event->for_us, nullptr);
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second != nullptr) < std::pair(b.first, b.second != nullptr);
  });
  for (const auto& [at_us, event] : steps) {
    if (plan.changes.back().at_us != at_us) {
      plan.changes.push_back(plan.changes.back());
      plan.changes.back().at_us = at_us;
    }
    GpuChange& change = plan.changes.back();
    if (event == nullptr) {
      change.limit_mw = default_mw;
    } else if (event->kind == EventSpec::Kind::kPowerLimit) {
      change.limit_mw = event->limit_mw;
    } else {
      ApplyMigSet(work, gpu, *event, change);
    }
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
