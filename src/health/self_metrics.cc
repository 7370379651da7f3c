#include "health/self_metrics.h"

#include <array>

#include "base/version.h"
#include "topology/device_state.h"

namespace podgpu {
namespace {

// The input of the write functions of the table.
struct SlotInput {
  const TickFacts& facts;
  bool ready;
};

// Appends values in order.
class SlotWriter {
 public:
  explicit SlotWriter(std::vector<Value>& slots) : slots_(slots) {}
  void Count(uint64_t count) { slots_.push_back(Value::OfInt64(static_cast<int64_t>(count))); }
  void Flag(bool flag) { Count(flag ? 1 : 0); }
  void Real(double number) { slots_.push_back(Value::OfDouble(number)); }
  void Absent() { slots_.push_back(Value::OfAbsence(Absence::kNoData)); }
  void Optional(const std::optional<int64_t>& number) {
    number ? slots_.push_back(Value::OfInt64(*number)) : Absent();
  }
  void Optional(const std::optional<double>& number) { number ? Real(*number) : Absent(); }

 private:
  std::vector<Value>& slots_;
};

using LabelSets = std::vector<std::vector<Label>>;

struct SlotRow {
  SlotView view;
  std::string_view name, type, unit, labels, help;
  LabelSets (*label_sets)(const Topology* topology);
  void (*write)(const SlotInput& in, SlotWriter& out);
  Shown shown = Shown::kAlways;
  Family family() const {
    return {std::string(name), std::string(help), std::string(type), std::string(unit)};
  }
};

LabelSets NoLabels(const Topology* /*topology*/) { return {{}}; }

// One label that takes each of `count` names.
template <typename Enum, int kCount>
LabelSets OneLabel(std::string_view label, std::string_view (*name)(Enum)) {
  LabelSets sets;
  for (int i = 0; i < kCount; ++i) {
    sets.push_back({{std::string(label), std::string(name(static_cast<Enum>(i)))}});
  }
  return sets;
}

LabelSets GpuStateLabels(const Topology* topology) {
  LabelSets sets;
  if (topology == nullptr) {
    return sets;
  }
  for (const Gpu& gpu : topology->gpus) {
    for (int i = 0; i < kDeviceStateCount; ++i) {
      sets.push_back({{"gpu", std::to_string(gpu.gpu_id)},
                      {"UUID", gpu.uuid},
                      {"state", std::string(DeviceStateName(static_cast<DeviceState>(i)))}});
    }
  }
  return sets;
}

void WriteGpuStates(const SlotInput& in, SlotWriter& out) {
  const size_t count = in.facts.grid == nullptr ? 0 : in.facts.grid->topology().gpus.size();
  for (size_t gpu = 0; gpu < count; ++gpu) {
    const DeviceState state = in.facts.StateOf(gpu);
    for (int i = 0; i < kDeviceStateCount; ++i) {
      out.Flag(static_cast<int>(state) == i);
    }
  }
}

uint64_t PresentGpus(const TickFacts& facts) {
  uint64_t present = 0;
  const size_t count = facts.grid == nullptr ? 0 : facts.grid->topology().gpus.size();
  for (size_t gpu = 0; gpu < count; ++gpu) {
    const DeviceState state = facts.StateOf(gpu);
    present += state != DeviceState::kLost && state != DeviceState::kUnresponsive ? 1 : 0;
  }
  return present;
}

// Counts the requested health verdicts and paths that the source does not report.
void CountAbsentFindings(const Grid& grid, std::array<uint64_t, kAbsenceCount>& counts) {
  const Findings& findings = grid.findings;
  const size_t gpus = grid.topology().gpus.size();
  for (size_t i = 0; findings.asked.health && i < gpus; ++i) {
    const bool is_known = i < findings.health.size() && findings.health[i].is_known;
    counts[static_cast<size_t>(Absence::kNotRead)] += is_known ? 0 : kHealthWatchCount;
  }
  if (findings.asked.peers && findings.peers.empty() && gpus > 0) {
    counts[static_cast<size_t>(Absence::kNotSupported)] += gpus * (gpus - 1);
  }
}

void WriteAbsentSamples(const SlotInput& in, SlotWriter& out) {
  std::array<uint64_t, kAbsenceCount> counts{};
  if (in.facts.grid != nullptr) {
    CountAbsentFindings(*in.facts.grid, counts);
    for (const Value& value : in.facts.grid->cells()) {
      if (!value.present()) {
        ++counts[static_cast<size_t>(value.absence())];
      }
    }
  }
  counts[static_cast<size_t>(Absence::kNoProcesses)] += in.facts.unknown_pod_values;
  for (const uint64_t count : counts) {
    out.Count(count);
  }
}

void WriteUnmatched(const SlotInput& in, SlotWriter& out) {
  std::array<uint64_t, kUnmatchedReasonCount> counts{};
  if (in.facts.owners != nullptr) {
    for (const UnmatchedDevice& device : in.facts.owners->unmatched) {
      ++counts[static_cast<size_t>(device.reason)];
    }
  }
  for (const uint64_t count : counts) {
    out.Count(count);
  }
}

uint64_t MatchedDevices(const TickFacts& facts) {
  uint64_t matched = 0;
  if (facts.owners != nullptr) {
    for (const std::vector<Owner>& owners : facts.owners->by_entity) {
      matched += owners.size();
    }
  }
  return matched;
}

uint64_t LabelsDropped(const TickFacts& facts) {
  uint64_t count = 0;
  if (facts.owners != nullptr) {
    for (const DroppedLabels& pod : facts.owners->dropped_labels) {
      count += pod.count;
    }
  }
  return count;
}

void WriteAge(bool known, std::chrono::milliseconds age, SlotWriter& out) {
  known ? out.Real(std::chrono::duration<double>(age).count()) : out.Absent();
}

// Reads the number of a family from the facts of one collection of the API server.
using ApiNumber = std::optional<int64_t> (*)(const ApiFacts& facts);
constexpr ApiNumber kApiUp = [](const ApiFacts& facts) -> std::optional<int64_t> {
  return facts.state == PartState::kOk ? 1 : 0;
};
constexpr ApiNumber kApiObjects = [](const ApiFacts& facts) -> std::optional<int64_t> {
  return facts.value == nullptr ? std::nullopt : std::optional<int64_t>(std::ssize(*facts.value));
};
constexpr ApiNumber kApiRequests = [](const ApiFacts& facts) -> std::optional<int64_t> {
  return static_cast<int64_t>(facts.requests);
};
constexpr ApiNumber kApiFailures = [](const ApiFacts& facts) -> std::optional<int64_t> {
  return static_cast<int64_t>(facts.failures);
};

LabelSets ApiLabels(const Topology* /*topology*/) {
  return {{{"collection", "pods"}}, {{"collection", "resourceslices"}}};
}

// In the order of ApiLabels.
void WriteApi(const SlotInput& in, ApiNumber number, SlotWriter& out) {
  for (const ApiFacts* facts : {in.facts.api_pods.get(), in.facts.api_slices.get()}) {
    const bool is_asked = facts != nullptr && !facts->is_of_kubelet;
    out.Optional(is_asked ? number(*facts) : std::optional<int64_t>());
  }
}

void WriteKubeletPods(const SlotInput& in, ApiNumber number, SlotWriter& out) {
  const ApiFacts* const facts = in.facts.api_pods.get();
  const bool is_asked = facts != nullptr && facts->is_of_kubelet;
  out.Optional(is_asked ? number(*facts) : std::optional<int64_t>());
}

constexpr SlotView kCore = SlotView::kCore;
constexpr SlotView kSelf = SlotView::kSelf;

// tidy: table
constexpr SlotRow kRows[] = {
    {kCore, "podgpu_gpu_state", "gauge", "", "gpu,UUID,state",
     "State of the GPU: 1 for the current state, 0 for earlier states.", GpuStateLabels,
     WriteGpuStates, Shown::kOnceSeen},
    {kCore, "podgpu_gpus_expected", "gauge", "", "",
     "GPUs that this node should have: the most that were seen at once since the start, or the "
     "number on its PCI bus.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.source->expected_gpus); }},
    {kCore, "podgpu_gpus_present", "gauge", "", "", "GPUs that answer now.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(PresentGpus(in.facts)); }},
    {kSelf, "podgpu_build_info", "gauge", "", "version",
     "Always 1; the version of this program is the label.",
     [](const Topology*) {
       return LabelSets{{{"version", std::string(kVersion)}}};
     },
     [](const SlotInput&, SlotWriter& out) { out.Count(1); }},
    {kSelf, "podgpu_ready", "gauge", "", "",
     "1 when every GPU that is neither lost nor excluded has a fresh value, as /readyz says.",
     NoLabels, [](const SlotInput& in, SlotWriter& out) { out.Flag(in.ready); }},
    {kSelf, "podgpu_ticks_total", "counter", "", "", "Pages made since the start.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.tick); }},
    {kSelf, "podgpu_tick_seconds", "gauge", "seconds", "",
     "Wall time that making the last page took.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Real(in.facts.last_tick_seconds); }},
    {kSelf, "podgpu_series", "gauge", "", "", "Series on the last page of /metrics.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.last_series); }},
    {kSelf, "podgpu_series_dropped_total", "counter", "", "",
     "Series that --series-budget left out, added up over all pages.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.left_out); }},
    {kSelf, "podgpu_log_lines_dropped_total", "counter", "", "",
     "Log lines that podgpu dropped, because nothing read its standard error.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.dropped_log_lines); },
     Shown::kOnceSeen},
    {kSelf, "podgpu_source_state", "gauge", "", "state",
     "State of the device source: 1 for the current state, 0 for earlier states.",
     [](const Topology*) { return OneLabel<PartState, kPartStateCount>("state", PartStateName); },
     [](const SlotInput& in, SlotWriter& out) {
       for (int i = 0; i < kPartStateCount; ++i) {
         out.Flag(static_cast<int>(in.facts.driver) == i);
       }
     },
     Shown::kOnceSeen},
    {kSelf, "podgpu_source_call_seconds", "gauge", "seconds", "call",
     "Wall time of the last finished call into the vendor library, by kind.",
     [](const Topology*) { return OneLabel<SourceCall, kSourceCallCount>("call", SourceCallName); },
     [](const SlotInput& in, SlotWriter& out) {
       for (const std::optional<double>& last : in.facts.call_seconds) {
         out.Optional(last);
       }
     }},
    {kSelf, "podgpu_source_running_call_seconds", "gauge", "seconds", "",
     "How long the current vendor call has been running; 0 when no call is running.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       const Duration elapsed = in.facts.running ? in.facts.running->elapsed : Duration{};
       out.Real(std::chrono::duration<double>(elapsed).count());
     }},
    {kSelf, "podgpu_source_interrupted_calls_total", "counter", "", "",
     "Vendor calls that the watchdog interrupted because they did not return.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.interrupts); }},
    {kSelf, "podgpu_written_off_threads", "gauge", "", "",
     "Threads that podgpu gave up because they hang in a vendor call; other threads continue "
     "without them.",
     NoLabels, [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.written_off); }},
    {kSelf, "podgpu_source_connections_total", "counter", "", "",
     "Times that podgpu found the devices and set up their watches: at the start, after a loss, "
     "after a change.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.source->connections); }},
    {kSelf, "podgpu_source_read_failures_total", "counter", "", "",
     "Readings of all devices that failed as a whole.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.source->read_failures); }},
    {kSelf, "podgpu_sample_age_seconds", "gauge", "seconds", "",
     "Age of the newest reading of the devices.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       WriteAge(in.facts.grid != nullptr, in.facts.grid_age, out);
     }},
    {kSelf, "podgpu_fact_age_seconds", "gauge", "seconds", "fact",
     "Age of the last good answer, by fact.",
     [](const Topology*) {
       return LabelSets{
           {{"fact", "devices"}}, {{"fact", "pod_resources"}}, {{"fact", "containers"}}};
     },
     [](const SlotInput& in, SlotWriter& out) {
       WriteAge(in.facts.grid != nullptr, in.facts.grid_age, out);
       WriteAge(in.facts.pods->value != nullptr, in.facts.pods_age, out);
       const ContainerFacts* const containers = in.facts.containers.get();
       const bool has_list = containers != nullptr && containers->value != nullptr;
       const Duration age = has_list ? in.facts.now - containers->good_at : Duration();
       WriteAge(has_list, std::chrono::duration_cast<std::chrono::milliseconds>(age), out);
     }},
    {kSelf, "podgpu_absent_samples", "gauge", "", "reason",
     "Watched values that the last page leaves out, by reason.",
     [](const Topology*) { return OneLabel<Absence, kAbsenceCount>("reason", AbsenceName); },
     WriteAbsentSamples, Shown::kWhileSeen},
    {kSelf, "podgpu_pod_resources_up", "gauge", "", "",
     "1 when the kubelet answered the last time it was asked; absent without --kubernetes where it "
     "has never answered.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       const PodFacts& pods = *in.facts.pods;
       const bool may_be_missing =
           !pods.is_expected && pods.value == nullptr && !pods.is_incomplete;
       may_be_missing ? out.Absent() : out.Flag(pods.state == PartState::kOk);
     }},
    {kSelf, "podgpu_pod_resources_pods", "gauge", "", "", "Pods in the kubelet's last good answer.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       in.facts.pods->value != nullptr ? out.Count(in.facts.pods->value->pod_count) : out.Absent();
     }},
    {kSelf, "podgpu_pod_resources_failures_total", "counter", "", "",
     "Requests that the kubelet did not answer.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.pods->failures); }},
    {kSelf, "podgpu_devices_matched", "gauge", "", "",
     "Device ids given to containers that were found on this node.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(MatchedDevices(in.facts)); }},
    {kSelf, "podgpu_devices_unmatched", "gauge", "", "reason",
     "Device ids of GPU resources given to containers that match no device of this node, by "
     "reason.",
     [](const Topology*) {
       return OneLabel<UnmatchedReason, kUnmatchedReasonCount>("reason", UnmatchedReasonName);
     },
     WriteUnmatched, Shown::kOnceSeen},
    {kSelf, "podgpu_pod_labels_dropped", "gauge", "", "",
     "Pod labels that are left out because their pods have more labels than a row can carry.",
     NoLabels, [](const SlotInput& in, SlotWriter& out) { out.Count(LabelsDropped(in.facts)); },
     Shown::kOnceSeen},
    {kSelf, "podgpu_api_server_up", "gauge", "", "collection",
     "1 while podgpu watches this node's objects at the API server; absent when it does not use "
     "the API server.",
     ApiLabels, [](const SlotInput& in, SlotWriter& out) { WriteApi(in, kApiUp, out); }},
    {kSelf, "podgpu_api_server_objects", "gauge", "", "collection",
     "Objects of this node that the API server has listed.", ApiLabels,
     [](const SlotInput& in, SlotWriter& out) { WriteApi(in, kApiObjects, out); }},
    {kSelf, "podgpu_api_server_requests_total", "counter", "", "collection",
     "Requests sent to the API server: lists and started watches.", ApiLabels,
     [](const SlotInput& in, SlotWriter& out) { WriteApi(in, kApiRequests, out); }},
    {kSelf, "podgpu_api_server_failures_total", "counter", "", "collection",
     "Lists and watches that ended in a failure.", ApiLabels,
     [](const SlotInput& in, SlotWriter& out) { WriteApi(in, kApiFailures, out); }},
    {kSelf, "podgpu_kubelet_pods_up", "gauge", "", "",
     "1 while the kubelet lists its pods at --kubelet-pods-url; absent without that flag.",
     NoLabels, [](const SlotInput& in, SlotWriter& out) { WriteKubeletPods(in, kApiUp, out); }},
    {kSelf, "podgpu_kubelet_pods_failures_total", "counter", "", "",
     "Failed requests for the kubelet's pods at --kubelet-pods-url.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { WriteKubeletPods(in, kApiFailures, out); }},
    {kSelf, "podgpu_hpc_jobs", "gauge", "", "",
     "Jobs that the directory of jobs lists on devices; absent when it cannot be listed.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       const bool known = in.facts.jobs != nullptr && in.facts.jobs->value != nullptr;
       known ? out.Count(in.facts.jobs->value->job_count()) : out.Absent();
     }},
    {kSelf, "podgpu_hpc_job_failures_total", "counter", "", "",
     "Failed attempts to list the directory of jobs.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       in.facts.jobs != nullptr ? out.Count(in.facts.jobs->failures) : out.Absent();
     }},
    {kSelf, "podgpu_runtime_containers", "gauge", "", "",
     "Containers with GPUs in the last list of the container runtime; absent without a list that "
     "is recent enough.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       in.facts.containers_are_known() ? out.Count(in.facts.containers->value->containers.size())
                                       : out.Absent();
     }},
    {kSelf, "podgpu_runtime_container_devices_unmatched", "gauge", "", "",
     "Devices of the container runtime's containers that match no GPU of this node.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       out.Count(in.facts.owners == nullptr ? 0 : in.facts.owners->unmatched_of_containers.size());
     },
     Shown::kOnceSeen},
    {kSelf, "podgpu_runtime_container_failures_total", "counter", "", "",
     "Failed requests to the container runtime.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       in.facts.containers != nullptr ? out.Count(in.facts.containers->failures) : out.Absent();
     }},
    {kSelf, "podgpu_http_connections", "gauge", "", "",
     "Connections of HTTP clients that are open.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.clients.open_connections); }},
    {kSelf, "podgpu_http_requests_total", "counter", "", "", "HTTP requests answered.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Count(in.facts.clients.requests); }},
    {kSelf, "podgpu_http_rejected_total", "counter", "", "reason",
     "HTTP clients refused or cut off, by reason.",
     [](const Topology*) {
       return LabelSets{{{"reason", "bad_request"}},  {{"reason", "deadline"}},
                        {{"reason", "displaced"}},    {{"reason", "turned_away"}},
                        {{"reason", "accept_error"}}, {{"reason", "unauthorized"}},
                        {{"reason", "rate_limited"}}, {{"reason", "tls_handshake"}},
                        {{"reason", "cross_site"}},   {{"reason", "foreign_host"}}};
     },
     [](const SlotInput& in, SlotWriter& out) {
       const HttpServerStats& clients = in.facts.clients;
       for (const uint64_t count :
            {clients.bad_requests, clients.deadlines, clients.displaced, clients.turned_away,
             clients.accept_errors, clients.unauthorized, clients.rate_limited,
             clients.failed_handshakes, clients.cross_site, clients.foreign_host}) {
         out.Count(count);
       }
     },
     Shown::kOnceSeen},
    {kSelf, "podgpu_web_config_old", "gauge", "", "",
     "1 while a changed web configuration cannot be used and the previous one stays in force, else "
     "0.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       out.Count(in.facts.clients.web_config_is_old ? 1U : 0U);
     }},
    {kSelf, "podgpu_tls_certificate_expiry_timestamp_seconds", "gauge", "seconds", "",
     "When the server certificate of podgpu expires, in seconds since 1970; absent without TLS.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       const int64_t expires_s = in.facts.clients.certificate_expires_s;
       out.Optional(expires_s == 0 ? std::nullopt : std::optional(expires_s));
     }},
    {kSelf, "podgpu_config_warnings", "gauge", "", "",
     "Configuration entries that were accepted but have no effect or are a risk.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       out.Count(in.facts.config->warnings.size() + (in.facts.naming_note != nullptr ? 1 : 0));
     }},
    {kSelf, "podgpu_config_last_reload_successful", "gauge", "", "",
     "1 when the counters file was accepted the last time it was read, 0 when it was refused.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Flag(in.facts.config->refusal.empty()); }},
    {kSelf, "podgpu_config_last_reload_success_timestamp_seconds", "gauge", "seconds", "",
     "When the current list of metrics was read, in seconds since 1970.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) {
       constexpr double kMicrosecondsPerSecond = 1e6;
       out.Real(static_cast<double>(ToMicroseconds(in.facts.config->loaded_at)) /
                kMicrosecondsPerSecond);
     }},
    {kSelf, "podgpu_config_reloads_total", "counter", "", "result",
     "Times that a changed counters file was read, by result.",
     [](const Topology*) {
       return LabelSets{{{"result", "taken_over"}}, {{"result", "refused"}}};
     },
     [](const SlotInput& in, SlotWriter& out) {
       out.Count(in.facts.config->reloads);
       out.Count(in.facts.config->failed_reloads);
     },
     Shown::kOnceSeen},
    {kSelf, "podgpu_textfile_writes_total", "counter", "", "result",
     "Times that a text file for node-exporter was due, by result.",
     [](const Topology*) {
       return LabelSets{{{"result", "written"}}, {{"result", "failed"}}};
     },
     [](const SlotInput& in, SlotWriter& out) {
       out.Count(in.facts.text_files.written);
       out.Count(in.facts.text_files.failed);
     },
     Shown::kOnceSeen},
    {kSelf, "podgpu_dump_writes_total", "counter", "", "result",
     "Readings that were due to be dumped, by result; absent without --dump-enabled.",
     [](const Topology*) {
       return LabelSets{{{"result", "written"}}, {{"result", "failed"}}};
     },
     [](const SlotInput& in, SlotWriter& out) {
       if (const std::optional<WriteTally>& dumps = in.facts.dumps) {
         out.Count(dumps->written);
         out.Count(dumps->failed);
       } else {
         out.Absent();
         out.Absent();
       }
     }},
    {kSelf, "process_cpu_seconds_total", "counter", "seconds", "",
     "Processor time used by this process.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Real(in.facts.usage.cpu_seconds); }},
    {kSelf, "process_resident_memory_bytes", "gauge", "bytes", "",
     "Resident memory of this process.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.usage.resident_bytes); }},
    {kSelf, "process_virtual_memory_bytes", "gauge", "bytes", "", "Virtual memory of this process.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.usage.virtual_bytes); }},
    {kSelf, "process_open_fds", "gauge", "", "", "Open file descriptors of this process.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.usage.open_descriptors); }},
    {kSelf, "process_max_fds", "gauge", "", "", "Limit of open file descriptors of this process.",
     NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.usage.max_descriptors); }},
    {kSelf, "podgpu_threads", "gauge", "", "",
     "Threads of this process, including those of the vendor library.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.usage.threads); }},
    {kSelf, "process_start_time_seconds", "gauge", "seconds", "",
     "When this process started, in seconds since 1970.", NoLabels,
     [](const SlotInput& in, SlotWriter& out) { out.Optional(in.facts.started_seconds); }},
};

}  // namespace

std::vector<SlotFamily> SlotFamiliesOf(SlotView view, const Topology* topology,
                                       uint32_t first_slot) {
  std::vector<SlotFamily> families;
  uint32_t slot = first_slot;
  for (const SlotRow& row : kRows) {
    if (row.view == view) {
      SlotFamily& family = families.emplace_back(SlotFamily{row.family()});
      for (std::vector<Label>& labels : row.label_sets(topology)) {
        family.series.push_back({std::move(labels), slot++});
      }
    }
  }
  return families;
}

std::vector<SlotLine> SlotLinesOf(SlotView view, const Topology* topology) {
  std::vector<SlotLine> lines;
  for (const SlotRow& row : kRows) {
    if (row.view == view) {
      for (const std::vector<Label>& labels : row.label_sets(topology)) {
        lines.push_back({std::string(row.name) + "{" + RenderLabels(labels), row.shown});
      }
    }
  }
  return lines;
}

void AppendSlots(SlotView view, const TickFacts& facts, bool ready, std::vector<Value>& slots) {
  SlotWriter writer(slots);
  for (const SlotRow& row : kRows) {
    if (row.view == view) {
      row.write({facts, ready}, writer);
    }
  }
}

std::vector<FamilyDoc> SlotFamilyDocs(SlotView view) {
  std::vector<FamilyDoc> docs;
  for (const SlotRow& row : kRows) {
    if (row.view == view) {
      docs.push_back({row.family(), std::string(row.labels), {}, row.shown});
    }
  }
  return docs;
}

}  // namespace podgpu
