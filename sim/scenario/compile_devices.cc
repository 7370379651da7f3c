// Devices under the scenario's names, and under the allocator's.
#include <string>

#include "sim/scenario/compile_parts.h"
#include "sim/world/dra_names.h"
#include "sim/world/share_names.h"

namespace podgpu::sim {

namespace {

struct DeviceName {
  std::string resource, id;
};

DeviceName NvidiaName(const Compilation& work, const ResolvedDevice& device,
                      const ComputeInstance* compute) {
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(device.gpu));
  if (compute != nullptr) {
    std::string profile = compute->profile;
    if (const size_t plus = profile.find('+'); plus != std::string::npos) {
      profile[plus] = '.';
    }
    return {work.scenario.mig_single ? "nvidia.com/gpu" : "nvidia.com/mig-" + profile,
            compute->mig_uuid};
  }
  if (device.replica < 0) {
    return {"nvidia.com/gpu", plan.uuid};
  }
  return {work.scenario.rename_shared ? "nvidia.com/gpu.shared" : "nvidia.com/gpu",
          plan.uuid + "::" + std::to_string(device.replica)};
}

DeviceName GkeName(const Compilation& work, const ResolvedDevice& device,
                   const GpuInstance* instance) {
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(device.gpu));
  std::string id = "nvidia" + std::to_string(plan.spec->minor_number);
  if (instance != nullptr) {
    id += "/gi" + std::to_string(instance->gpu_instance_id);
  }
  if (device.replica >= 0) {
    id += "/vgpu" + std::to_string(device.replica);
  }
  return {"nvidia.com/gpu", id};
}

DeviceName HamiName(const Compilation& work, const ResolvedDevice& device,
                    const ComputeInstance* compute) {
  if (compute != nullptr) {
    return {"nvidia.com/gpu", compute->mig_uuid};
  }
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(device.gpu));
  return {"nvidia.com/gpu", plan.uuid + "-" + std::to_string(std::max(device.replica, 0))};
}

// With Volcano and gpushare the kubelet picks any id of the plugin's list; the scheduler's
// annotation names the true GPU (kube/api_face.cc).  Here the id is of the next GPU.
DeviceName PickedName(const Compilation& work, const ResolvedDevice& device, bool is_volcano) {
  const size_t next = (static_cast<size_t>(device.gpu) + 1) % work.gpus.size();
  return {std::string(is_volcano ? kVolcanoResource : kGpushareResource),
          work.gpus[next].uuid + (is_volcano ? "-" : "-_-") +
              std::to_string(std::max(device.replica, 0))};
}

// Dynamic resource allocation has no replicas: the holders share the device itself.
DeviceName DraName(const Compilation& work, const ResolvedDevice& device,
                   const GpuInstance* instance) {
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(device.gpu));
  const int minor = plan.spec->minor_number;
  return {std::string(kDraDriver),
          instance == nullptr ? DraDeviceName(minor)
                              : DraDeviceName(minor, instance->profile->name,
                                              instance->profile->profile_id, instance->start)};
}

// The error of a device that is written as a whole GPU or a replica; empty when it is valid.
std::string WholeGpuProblem(const GpuPlan& plan, const Layout& layout, const DeviceSpec& spec,
                            TimeUs t, bool physical) {
  const std::string name = "gpu" + std::to_string(spec.gpu);
  if (layout.mig_enabled) {
    return name + " is in MIG mode at " + Seconds(t) + "; name an instance such as " + name +
           "/mig0";
  }
  const bool shared = plan.spec->sharing != Sharing::kExclusive;
  if (spec.replica >= 0 && (!shared || spec.replica >= plan.spec->replicas)) {
    return name + " has " + std::to_string(plan.spec->replicas) + " replicas; found replica " +
           std::to_string(spec.replica);
  }
  if (spec.replica < 0 && shared && !physical) {
    return name + " is shared; name a replica such as " + name + "::0";
  }
  return "";
}

// The hierarchy index of the instance at that place in the scenario, or -1.
int InstanceIndex(const Layout& layout, int written) {
  for (size_t i = 0; i < layout.instances.size(); ++i) {
    if (layout.instances[i].written == static_cast<size_t>(written)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

ResolvedDevice Resolve(const Compilation& work, const DeviceSpec& spec, TimeUs t, bool physical) {
  if (work.gpus.empty()) {
    return {};  // The reader of the scenario has complained already.
  }
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(spec.gpu));
  ResolvedDevice device{.gpu = spec.gpu, .replica = spec.replica};
  device.layout = plan.ChangeAt(t).layout;
  const Layout& layout = plan.layouts.at(device.layout);
  if (spec.mig < 0) {
    const std::string problem = WholeGpuProblem(plan, layout, spec, t, physical);
    if (!problem.empty()) {
      work.Fail(spec.place, problem);
      return device;
    }
    device.good = true;
    return device;
  }
  const std::string name = "gpu" + std::to_string(spec.gpu);
  device.instance = InstanceIndex(layout, spec.mig);
  if (device.instance < 0) {
    work.Fail(spec.place, name + " has " + std::to_string(layout.instances.size()) +
                              " MIG instances at " + Seconds(t) + "; found mig" +
                              std::to_string(spec.mig));
    return device;
  }
  const auto& computes = layout.instances[static_cast<size_t>(device.instance)].computes;
  const auto count = static_cast<int>(computes.size());
  if (spec.compute >= count || (spec.compute < 0 && count > 1)) {
    work.Fail(spec.place, name + "/mig" + std::to_string(spec.mig) + " has " +
                              std::to_string(count) + " compute instances; name one, from ci0");
    return device;
  }
  device.compute = std::max(spec.compute, 0);
  device.good = true;
  return device;
}

DeviceRecord DeviceOf(Compilation& work, const ResolvedDevice& device) {
  if (!device.good) {
    return {};
  }
  const GpuPlan& plan = work.gpus.at(static_cast<size_t>(device.gpu));
  const Layout& layout = plan.layouts.at(device.layout);
  const GpuInstance* instance = nullptr;
  const ComputeInstance* compute = nullptr;
  if (device.instance >= 0) {
    instance = &layout.instances.at(static_cast<size_t>(device.instance));
    compute = &instance->computes.at(static_cast<size_t>(device.compute));
  }
  DeviceName name;
  switch (work.scenario.allocator) {
    case Allocator::kNvidia:
      name = NvidiaName(work, device, compute);
      break;
    case Allocator::kGke:
      name = GkeName(work, device, instance);
      break;
    case Allocator::kHami:
      name = HamiName(work, device, compute);
      break;
    case Allocator::kDra:
      name = DraName(work, device, instance);
      break;
    case Allocator::kVolcano:
    case Allocator::kGpushare:
      name = PickedName(work, device, work.scenario.allocator == Allocator::kVolcano);
      break;
  }
  return {work.image.Text(name.resource),
          work.image.Text(name.id),
          device.gpu,
          device.instance,
          device.compute,
          layout.record};
}

}  // namespace podgpu::sim
