// Pods, churns and orphans as slots on devices, and their records.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/scenario/compile_parts.h"
#include "sim/world/identity.h"

namespace podgpu::sim {

namespace {

constexpr int kFirstChurnPid = 1'000'000;
constexpr int kLastPid = 4'194'304;
constexpr size_t kMostPhases = 4'096;

// A process record before it is sorted by pid.
struct PendingProcess {
  ProcessRecord record;
  size_t slot = 0;
};

class PodPlanner {
 public:
  explicit PodPlanner(Compilation& work) : work_(work), image_(work.image) {}

  void Plan() {
    CheckPodNames();
    for (const PodSpec& pod : work_.scenario.pods) {
      AddPod(pod);
    }
    for (const ProcessSpec& orphan : work_.scenario.orphans) {
      const TimeUs start = orphan.start_us.value_or(0);
      if (orphan.device) {
        const TimeUs stop = orphan.stop_us.value_or(kForever);
        AddProcess(orphan, Resolve(work_, *orphan.device, start, true), start, stop, kNone, kNone);
      }
    }
    WriteProcesses();
    for (size_t i = 0; i < work_.scenario.churns.size(); ++i) {
      AddChurn(i);
    }
    WriteNodeEras();
  }

 private:
  // A (namespace, name) may return, but must not exist twice at a time.
  void CheckPodNames() const {
    std::vector<const PodSpec*> pods;
    pods.reserve(work_.scenario.pods.size());
    for (const PodSpec& pod : work_.scenario.pods) {
      pods.push_back(&pod);
    }
    std::stable_sort(pods.begin(), pods.end(), [](const PodSpec* a, const PodSpec* b) {
      return std::tie(a->pod_namespace, a->name, a->start_us) <
             std::tie(b->pod_namespace, b->name, b->start_us);
    });
    for (size_t i = 1; i < pods.size(); ++i) {
      const PodSpec& before = *pods[i - 1];
      const PodSpec& pod = *pods[i];
      if (before.name == pod.name && before.pod_namespace == pod.pod_namespace &&
          pod.start_us < before.stop_us) {
        work_.Fail(pod.place, "pod " + pod.pod_namespace + "/" + pod.name +
                                  " is already alive at " + Seconds(pod.start_us) +
                                  "; rename one or stop the first before");
      }
    }
  }

  void AddPod(const PodSpec& pod) {
    uint64_t key = KeyOf(KeyOf(work_.scenario.seed, Purpose::kPodUid), pod.pod_namespace);
    key = KeyOf(KeyOf(key, pod.name), static_cast<uint64_t>(pod.start_us));
    const auto uid = UuidText(key);
    const auto index = CountOf(image_.pods);
    const PodRecord record{image_.Text(pod.pod_namespace),
                           image_.Text(pod.name),
                           image_.Text({uid.data(), uid.size()}),
                           image_.Text(pod.is_static ? ConfigHashOf(key) : std::string()),
                           {CountOf(image_.containers), CountOf(pod.containers)},
                           pod.start_us,
                           pod.stop_us};
    image_.pods.push_back(record);
    std::set<std::string_view> names;
    for (const ContainerSpec& container : pod.containers) {
      if (!names.insert(container.name).second) {
        work_.Fail(container.place, "container '" + container.name + "' is in this pod twice");
      }
      AddContainer(pod, container, index, KeyOf(key, container.name));
    }
  }

  // 32 hexadecimal digits, like the hash that the kubelet makes of the file of a static pod.
  static std::string ConfigHashOf(uint64_t key) {
    const auto digits = UuidText(KeyOf(KeyOf(key, "config hash"), Purpose::kPodUid));
    std::string hash(digits.data(), digits.size());
    std::erase(hash, '-');
    return hash;
  }

  void AddContainer(const PodSpec& pod, const ContainerSpec& spec, uint32_t pod_index,
                    uint64_t key) {
    const auto id = ContainerIdText(KeyOf(key, Purpose::kContainerId));
    const auto container = CountOf(image_.containers);
    std::vector<ResolvedDevice> devices;
    image_.containers.push_back({image_.Text(spec.name), image_.Text({id.data(), id.size()}),
                                 WriteDevices(spec.devices, pod.start_us, devices)});
    for (const ProcessSpec& process : spec.processes) {
      const TimeUs start = process.start_us.value_or(pod.start_us);
      const TimeUs stop = process.stop_us.value_or(pod.stop_us);
      if (start < pod.start_us || stop > pod.stop_us) {
        work_.Fail(process.place, "lives from " + Seconds(start) + " to " + Seconds(stop) +
                                      ", its pod only from " + Seconds(pod.start_us) + " to " +
                                      Seconds(pod.stop_us));
      }
      AddProcess(process, DeviceFor(process, spec, devices, start), start, stop, pod_index,
                 container);
    }
  }

  Range WriteDevices(const std::vector<DeviceSpec>& specs, TimeUs t,
                     std::vector<ResolvedDevice>& devices) {
    const Range range{CountOf(image_.devices), CountOf(specs)};
    for (const DeviceSpec& spec : specs) {
      devices.push_back(Resolve(work_, spec, t, false));
      image_.devices.push_back(DeviceOf(work_, devices.back()));
    }
    return range;
  }

  // The device of a container's process: the device that it names, which the container must hold
  // unless the process escapes, or the container's only device.
  ResolvedDevice DeviceFor(const ProcessSpec& process, const ContainerSpec& container,
                           const std::vector<ResolvedDevice>& devices, TimeUs t) const {
    if (!process.device) {
      if (devices.size() == 1) {
        return devices.front();
      }
      work_.Fail(process.place, "the container holds " + std::to_string(devices.size()) +
                                    " devices; choose one with 'gpu' or 'device'");
      return {};
    }
    const DeviceSpec& named = *process.device;
    std::optional<ResolvedDevice> held;
    for (size_t i = 0; i < devices.size(); ++i) {
      const DeviceSpec& other = container.devices[i];
      const bool same = other.mig == named.mig && other.compute == named.compute &&
                        other.replica == named.replica;
      const bool any_of_gpu = named.mig < 0 && named.replica < 0;
      if (other.gpu == named.gpu && (same || any_of_gpu)) {
        held = devices[i];
      }
    }
    if (held) {
      return *held;
    }
    if (!process.escape) {
      work_.Fail(named.place,
                 "the container does not hold this device; give it the device, or set "
                 "'escape: true' for a process that runs where it should not");
    }
    return Resolve(work_, named, t, true);
  }

  static std::string LabelOf(const LoadSpec& load) {
    TimeUs period = 0;
    for (const PhaseSpec& phase : load.phases) {
      period += phase.duration_us;
    }
    return "load '" + load.name + "' (" + Seconds(period) + ")";
  }

  // The slot of a process on a device, with the phases of its load.
  Slot SlotOf(const ProcessSpec& spec, const ResolvedDevice& device, TimeUs start) {
    const GpuClass& figures = work_.gpus.at(static_cast<size_t>(device.gpu)).board->figures;
    Slot slot;
    slot.device = device;
    slot.start_us = start;
    for (const PhaseSpec& phase : spec.load.phases) {
      const int64_t memory = phase.demand.memory_bytes;
      slot.phases.push_back(
          {slot.period_us, phase.demand, memory < 0 ? spec.memory_bytes : memory});
      slot.period_us += phase.duration_us;
    }
    slot.k_mw = spec.k_mw < 0 ? figures.k_mw : spec.k_mw;
    slot.m_mw = spec.m_mw < 0 ? figures.m_mw : spec.m_mw;
    slot.threads_ppm = spec.threads_ppm;
    slot.first_channel = image_.ReserveChannels(kProcessChannelCount);
    slot.label = LabelOf(spec.load);
    slot.who = "pid " + std::to_string(spec.pid);
    slot.place = spec.place;
    return slot;
  }

  // A process ends when the MIG layout under it changes.
  TimeUs EndOnLayout(const ResolvedDevice& device, TimeUs start, TimeUs stop) const {
    for (const GpuChange& change : work_.gpus.at(static_cast<size_t>(device.gpu)).changes) {
      if (change.at_us > start && change.layout != device.layout) {
        return std::min(stop, change.at_us);
      }
    }
    return stop;
  }

  static ProcessRecord RecordOf(const Slot& slot, int pid) {
    return {.start_us = slot.start_us,
            .stop_us = slot.stop_us,
            .pid = pid,
            .gpu = slot.device.gpu,
            .instance = slot.device.instance,
            .compute = slot.device.compute,
            .first_channel = slot.first_channel,
            .pod = kNone,
            .container = kNone,
            .churn = kNone};
  }

  void AddProcess(const ProcessSpec& spec, const ResolvedDevice& device, TimeUs start, TimeUs stop,
                  uint32_t pod, uint32_t container) {
    if (stop <= start) {
      work_.Fail(spec.place, "stops at " + Seconds(stop) + ", which is not after its start at " +
                                 Seconds(start));
    }
    if (!device.good || stop <= start) {
      return;  // Resolving it has complained already.
    }
    if (spec.threads_ppm < kWholePpm &&
        work_.gpus.at(static_cast<size_t>(device.gpu)).spec->sharing != Sharing::kMps) {
      work_.Fail(spec.place, "'threads' is for a GPU shared by mps");
    }
    if (!work_.scenario.churns.empty() && spec.pid >= kFirstChurnPid) {
      work_.Fail(spec.place, "pid " + std::to_string(spec.pid) + ": from " +
                                 std::to_string(kFirstChurnPid) + " on, pids belong to 'churn'");
    }
    Slot slot = SlotOf(spec, device, start);
    slot.stop_us = EndOnLayout(device, start, stop);
    PendingProcess pending{RecordOf(slot, spec.pid), work_.slots.size()};
    pending.record.pod = pod;
    pending.record.container = container;
    work_.slots.push_back(std::move(slot));
    pending_.push_back(pending);
  }

  // Processes by (pid, start); one pid must not be used twice at a time.
  void WriteProcesses() {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const PendingProcess& a, const PendingProcess& b) {
                       return std::pair(a.record.pid, a.record.start_us) <
                              std::pair(b.record.pid, b.record.start_us);
                     });
    for (size_t i = 0; i < pending_.size(); ++i) {
      const ProcessRecord& record = pending_[i].record;
      if (i > 0 && pending_[i - 1].record.pid == record.pid &&
          record.start_us < pending_[i - 1].record.stop_us) {
        work_.Fail(work_.slots[pending_[i].slot].place,
                   "pid " + std::to_string(record.pid) + " is already in use at " +
                       Seconds(record.start_us) + "; pids are unique at any time");
      }
      image_.processes.push_back(record);
    }
  }

  // The phases of a churn's slot: the load repeats until the pod's life is over, then pause.
  std::vector<SlotPhase> ChurnPhases(const ChurnSpec& churn, const Slot& once) const {
    std::vector<SlotPhase> phases;
    if (once.phases.size() == 1) {
      phases.push_back(once.phases.front());
    }
    for (TimeUs cycle = 0;
         phases.size() <= kMostPhases && once.phases.size() > 1 && cycle < churn.life_us;
         cycle += once.period_us) {
      for (SlotPhase phase : once.phases) {
        phase.begin_us += cycle;
        if (phase.begin_us < churn.life_us) {
          phases.push_back(phase);
        }
      }
    }
    if (phases.size() > kMostPhases) {
      work_.Fail(churn.place, "a life of " + Seconds(churn.life_us) + " with " + once.label +
                                  " has more than " + std::to_string(kMostPhases) +
                                  " phases; shorten the life or lengthen the phases");
      phases.resize(1);
    }
    if (churn.life_us < churn.every_us) {
      phases.push_back({churn.life_us, {}, 0});
    }
    return phases;
  }

  void AddChurn(size_t index) {
    const ChurnSpec& churn = work_.scenario.churns[index];
    const auto all = static_cast<int>(work_.scenario.churns.size());
    const int width = (kLastPid - kFirstChurnPid) / all;
    std::vector<ResolvedDevice> devices;
    ChurnRecord record{.start_us = churn.start_us,
                       .every_us = churn.every_us,
                       .life_us = churn.life_us,
                       .key = KeyOf(KeyOf(work_.scenario.seed, Purpose::kChurn), uint64_t{index}),
                       .pod_namespace = image_.Text(churn.pod_namespace),
                       .name_prefix = image_.Text(churn.name),
                       .container = image_.Text(churn.container),
                       .first_pid = kFirstChurnPid + static_cast<int>(index) * width,
                       .pid_cycles = 1,
                       .devices = WriteDevices(churn.devices, churn.start_us, devices),
                       .processes = {CountOf(image_.processes), CountOf(devices)}};
    const auto count = static_cast<int>(devices.size());
    if (count == 0 || width / count < 2) {
      work_.Fail(churn.place, count == 0 ? "needs 'gpus' or 'devices'"
                                         : "too many churns: no pids are left for this one");
      return;
    }
    record.pid_cycles = static_cast<uint32_t>(width / count);
    for (size_t i = 0; i < devices.size(); ++i) {
      AddChurnSlot(churn, devices[i], record.first_pid + static_cast<int>(i),
                   static_cast<uint32_t>(index));
    }
    image_.churns.push_back(record);
  }

  void AddChurnSlot(const ChurnSpec& churn, const ResolvedDevice& device, int pid, uint32_t index) {
    if (!device.good) {
      return;
    }
    if (EndOnLayout(device, churn.start_us, kForever) != kForever) {
      work_.Fail(churn.place,
                 "GPU " + std::to_string(device.gpu) +
                     " changes its MIG layout later; a churn needs a layout that does not change");
    }
    Slot slot = SlotOf(churn.process, device, churn.start_us);
    slot.phases = ChurnPhases(churn, slot);
    slot.period_us = churn.every_us;
    slot.label = "churn '" + churn.name + "' (" + Seconds(churn.every_us) + ")";
    slot.who = slot.label;
    ProcessRecord record = RecordOf(slot, pid);
    record.churn = index;
    image_.processes.push_back(record);
    work_.slots.push_back(std::move(slot));
  }

  // The resident pods and processes between two starts or stops.
  void WriteNodeEras() {
    std::map<TimeUs, std::vector<std::pair<uint32_t, bool>>> pods;
    std::map<TimeUs, std::vector<std::pair<uint32_t, bool>>> processes;
    std::map<TimeUs, bool> times{{0, true}};
    const auto note = [&times](auto& changes, uint32_t index, TimeUs start, TimeUs stop) {
      changes[start].emplace_back(index, true);
      changes[stop].emplace_back(index, false);
      times[start] = true;
      if (stop != kForever) {
        times[stop] = true;
      }
    };
    for (uint32_t i = 0; i < work_.scenario.pods.size(); ++i) {
      note(pods, i, work_.scenario.pods[i].start_us, work_.scenario.pods[i].stop_us);
    }
    for (uint32_t i = 0; i < pending_.size(); ++i) {
      note(processes, i, image_.processes[i].start_us, image_.processes[i].stop_us);
    }
    std::map<uint32_t, bool> living_pods;
    std::map<uint32_t, bool> living_processes;
    const auto step = [](auto& changes, TimeUs t, auto& living) {
      for (const auto& [index, begins] : changes[t]) {
        if (begins) {
          living[index] = true;
        } else {
          living.erase(index);
        }
      }
    };
    for (const auto& [t, unused] : times) {
      step(pods, t, living_pods);
      step(processes, t, living_processes);
      NodeEraRecord era{t,
                        {CountOf(image_.resident_pods), CountOf(living_pods)},
                        {CountOf(image_.resident_processes), CountOf(living_processes)}};
      for (const auto& [index, value] : living_pods) {
        image_.resident_pods.push_back(index);
      }
      for (const auto& [index, value] : living_processes) {
        image_.resident_processes.push_back(index);
      }
      image_.node_eras.push_back(era);
      if (image_.SizeBytes() > kImageLimitBytes) {
        work_.Fail(Place{}, "pods: the lists of living pods do not fit into an image of " +
                                std::to_string(kImageLimitBytes >> 20) +
                                " MiB; use fewer pods or start them together");
        return;
      }
    }
  }

  static uint32_t CountOf(const std::map<uint32_t, bool>& living) {
    return static_cast<uint32_t>(living.size());
  }
  template <typename Record>
  static uint32_t CountOf(const std::vector<Record>& records) {
    return static_cast<uint32_t>(records.size());
  }

  Compilation& work_;
  ImageBuilder& image_;
  std::vector<PendingProcess> pending_;
};

}  // namespace

const SlotPhase& Slot::PhaseAt(TimeUs t) const {
  const TimeUs offset = (t - start_us) % period_us;
  const auto after =
      std::upper_bound(phases.begin() + 1, phases.end(), offset,
                       [](TimeUs time, const SlotPhase& phase) { return time < phase.begin_us; });
  return *(after - 1);
}

void PlanPods(Compilation& work) { PodPlanner(work).Plan(); }

}  // namespace podgpu::sim
