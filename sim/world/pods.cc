// The pods that are alive at a time, with their containers and device ids, and the processes, in
// table order; those of churns are made from the cycle number.
#include <algorithm>
#include <charconv>

#include "sim/world/churns.h"
#include "sim/world/identity.h"
#include "sim/world/image_world.h"

namespace podgpu::sim {

namespace {

PodName NameOf(std::string_view prefix) {
  PodName name;
  name.size = std::min(prefix.size(), name.text.size());
  std::copy_n(prefix.begin(), name.size, name.text.begin());
  return name;
}

// For example "trainer-17"; the compiler checks that it fits.
PodName NameOf(std::string_view prefix, int64_t cycle) {
  PodName name = NameOf(prefix);
  name.text.at(name.size++) = '-';
  char* const end = name.text.data() + name.text.size();
  const auto result = std::to_chars(name.text.data() + name.size, end, cycle);
  name.size = static_cast<size_t>(result.ptr - name.text.data());
  return name;
}

}  // namespace

const NodeEraRecord& ImageWorld::NodeEraAt(TimeUs t) const {
  const auto after =
      std::upper_bound(tables_.node_eras.begin() + 1, tables_.node_eras.end(), t,
                       [](TimeUs time, const NodeEraRecord& era) { return time < era.start_us; });
  return *(after - 1);
}

void ImageWorld::VisitDevices(Range devices, TimeUs t, PodVisitor& visitor) const {
  for (const DeviceRecord& record : ImageTables::Slice(tables_.devices, devices)) {
    PodDevice device{.resource = tables_.Text(record.resource),
                     .device_id = tables_.Text(record.device_id),
                     .device = {record.gpu, record.instance, record.compute}};
    const auto& eras = Gpu(record.gpu);
    if (record.instance >= 0 && EraAt(eras, t).layout != record.layout) {
      device.device = {.gpu = -1};
    }
    visitor.Device(device);
  }
}

void ImageWorld::VisitPods(TimeUs t, PodVisitor& visitor) const {
  t = Readable(t);
  for (const uint32_t index : ImageTables::Slice(tables_.resident_pods, NodeEraAt(t).pods)) {
    VisitPod(tables_.pods[index], t, visitor);
  }
  for (const ChurnRecord& churn : tables_.churns) {
    const ChurnMoment moment = MomentOf(churn, t);
    if (moment.alive) {
      VisitChurn(churn, moment, t, visitor);
    }
  }
}

// A kubelet that keeps finished pods drops them when it admits the next pod.
void ImageWorld::VisitListedPods(TimeUs t, PodVisitor& visitor) const {
  VisitPods(t, visitor);
  if (!Has(kNodeKeepsFinished)) {
    return;
  }
  t = Readable(t);
  const TimeUs admitted = LastAdmission(t);
  for (const PodRecord& pod : tables_.pods) {
    if (pod.stop_us <= t && pod.stop_us > admitted) {
      VisitPod(pod, t, visitor);
    }
  }
  for (const ChurnRecord& churn : tables_.churns) {
    const ChurnMoment moment = MomentOf(churn, t);
    if (t >= churn.start_us && !moment.alive &&
        CycleStart(churn, moment.cycle) + churn.life_us > admitted) {
      VisitChurn(churn, moment, t, visitor);
    }
  }
}

// The start of the newest pod that began by t.
TimeUs ImageWorld::LastAdmission(TimeUs t) const {
  TimeUs last = 0;
  for (const PodRecord& pod : tables_.pods) {
    last = pod.start_us <= t ? std::max(last, pod.start_us) : last;
  }
  for (const ChurnRecord& churn : tables_.churns) {
    if (t >= churn.start_us) {
      last = std::max(last, CycleStart(churn, MomentOf(churn, t).cycle));
    }
  }
  return last;
}

void ImageWorld::VisitPod(const PodRecord& pod, TimeUs t, PodVisitor& visitor) const {
  visitor.Pod({.pod_namespace = tables_.Text(pod.pod_namespace),
               .name = tables_.Text(pod.name),
               .uid = tables_.Text(pod.uid),
               .config_hash = tables_.Text(pod.config_hash),
               .has_ended = pod.stop_us <= t});
  for (const ContainerRecord& container : ImageTables::Slice(tables_.containers, pod.containers)) {
    visitor.Container({tables_.Text(container.name), tables_.Text(container.container_id)});
    VisitDevices(container.devices, t, visitor);
  }
}

void ImageWorld::VisitChurn(const ChurnRecord& churn, const ChurnMoment& moment, TimeUs t,
                            PodVisitor& visitor) const {
  const uint64_t key = KeyOf(churn.key, static_cast<uint64_t>(moment.cycle));
  const PodName name = NameOf(tables_.Text(churn.name_prefix), moment.cycle);
  const auto uid = UuidText(KeyOf(key, Purpose::kPodUid));
  const auto container_id = ContainerIdText(KeyOf(key, Purpose::kContainerId));
  visitor.Pod({.pod_namespace = tables_.Text(churn.pod_namespace),
               .name = name.view(),
               .uid = {uid.data(), uid.size()},
               .config_hash = {},
               .has_ended = !moment.alive});
  visitor.Container({tables_.Text(churn.container), {container_id.data(), container_id.size()}});
  VisitDevices(churn.devices, t, visitor);
}

void ImageWorld::VisitAllocatable(TimeUs t, PodVisitor& visitor) const {
  t = Readable(t);
  for (int gpu = 0; gpu < gpu_count(); ++gpu) {
    VisitDevices(LayoutAt(gpu, t).devices, t, visitor);
  }
}

int ImageWorld::process_count(TimeUs t) const {
  t = Readable(t);
  uint32_t count = NodeEraAt(t).processes.count;
  for (const ChurnRecord& churn : tables_.churns) {
    count += MomentOf(churn, t).alive ? churn.processes.count : 0;
  }
  return static_cast<int>(count);
}

ProcessFacts ImageWorld::process(int index, TimeUs t) const {
  t = Readable(t);
  const auto residents = ImageTables::Slice(tables_.resident_processes, NodeEraAt(t).processes);
  if (index >= 0 && static_cast<size_t>(index) < residents.size()) {
    return Facts(tables_.processes[residents[static_cast<size_t>(index)]], t);
  }
  index -= static_cast<int>(residents.size());
  for (const ChurnRecord& churn : tables_.churns) {
    const int count = MomentOf(churn, t).alive ? static_cast<int>(churn.processes.count) : 0;
    if (index >= 0 && index < count) {
      return ChurnFacts(churn, index, t);
    }
    index -= count;
  }
  return {};
}

ProcessFacts ImageWorld::Facts(const ProcessRecord& process, TimeUs t) const {
  const ChannelRecord& memory =
      tables_.channels[process.first_channel + static_cast<uint32_t>(ProcessChannel::kMemory)];
  ProcessFacts facts{.pid = process.pid,
                     .device = {process.gpu, process.instance, process.compute},
                     .started = process.start_us,
                     .memory_bytes = Rate(memory, Locate(Gpu(process.gpu), t)),
                     .pod_namespace = {},
                     .container = {},
                     .pod = {}};
  if (process.pod != kNone) {
    const PodRecord& pod = tables_.pods[process.pod];
    facts.pod_namespace = tables_.Text(pod.pod_namespace);
    facts.pod = NameOf(tables_.Text(pod.name));
    facts.container = tables_.Text(tables_.containers[process.container].name);
  }
  return facts;
}

ProcessFacts ImageWorld::ChurnFacts(const ChurnRecord& churn, int index, TimeUs t) const {
  const auto number = static_cast<uint32_t>(index);
  const int64_t cycle = MomentOf(churn, t).cycle;
  ProcessFacts facts = Facts(tables_.processes[churn.processes.first + number], t);
  facts.pid = PidOf(churn, cycle, number);
  facts.started = CycleStart(churn, cycle);
  facts.pod_namespace = tables_.Text(churn.pod_namespace);
  facts.pod = NameOf(tables_.Text(churn.name_prefix), cycle);
  facts.container = tables_.Text(churn.container);
  return facts;
}

TimeUs ImageWorld::NextPodChange(TimeUs t) const {
  t = Readable(t);
  TimeUs next = kForever;
  const NodeEraRecord* const after = &NodeEraAt(t) + 1;
  if (after != tables_.node_eras.data() + tables_.node_eras.size()) {
    next = after->start_us;
  }
  for (const ChurnRecord& churn : tables_.churns) {
    if (t < churn.start_us) {
      next = std::min(next, churn.start_us);
      continue;
    }
    const ChurnMoment moment = MomentOf(churn, t);
    const TimeUs start = CycleStart(churn, moment.cycle);
    next = std::min(next, moment.alive ? start + churn.life_us : start + churn.every_us);
  }
  return next;
}

}  // namespace podgpu::sim
