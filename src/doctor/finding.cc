#include "doctor/finding.h"

#include <algorithm>
#include <array>

namespace podgpu {
namespace {

constexpr std::array<std::string_view, kSeverityCount> kSeverityNames = {"ok", "note", "warn",
                                                                         "fail", "skip"};

constexpr std::array kFeatures = {
    Feature{"device_metrics", "device metrics"},
    Feature{"some_fields", "the fields that are named here"},
    Feature{"engine_fields", "what the engine has and NVML has not (source.choice)"},
    Feature{"some_devices", "the values of the devices that are named here"},
    Feature{"new_fields", "fields that are newer than the client's library"},
    Feature{"profiling", "profiling"},
    Feature{"pod_labels", "pod labels"},
    Feature{"pod_details", "labels and uids of pods"},
    Feature{"own_pod", "the certainty that the list of pods is complete"},
    Feature{"claims", "claims of dynamic resource allocation"},
    Feature{"mig_owners", "the pods of MIG instances"},
    Feature{"process_view", "process view"},
    Feature{"process_energy", "process and pod energy"},
    Feature{"shared_split", "split of shared GPUs"},
    Feature{"idle_by_process", "idle by process"},
    Feature{"process_pods", "the pods of the processes that are counted here"},
    Feature{"short_processes", "energy and time of processes shorter than a reading"},
    Feature{"container_names", "the container label where two containers of one pod hold GPUs"},
    Feature{"measured_energy", "energy of the GPUs that are named here"},
    Feature{"trusted_results", "trust in results of the GPUs that are named here"},
    Feature{"time_order", "the order of events across nodes"},
    Feature{"self_facts", "facts about the exporter itself"},
    Feature{"reload", "the list of metrics that is asked for"},
    Feature{"page", "the page at this address"},
    Feature{"xid", "XID"},
    Feature{"health", "health"},
};

}  // namespace

std::string_view SeverityName(Severity severity) {
  return kSeverityNames[static_cast<size_t>(severity)];
}

std::string_view FeatureWords(std::string_view key) {
  const auto found = std::ranges::find(kFeatures, key, &Feature::key);
  return found == kFeatures.end() ? key : found->words;
}

size_t DoctorResult::CountOf(Severity severity) const {
  return static_cast<size_t>(std::ranges::count_if(
      checks, [severity](const CheckResult& check) { return check.finding.severity == severity; }));
}

int DoctorResult::exit_code() const {
  constexpr int kWarned = 1;
  constexpr int kConfiguration = 2;
  constexpr int kFailed = 3;
  if (std::ranges::any_of(
          checks, [](const CheckResult& check) { return check.finding.is_configuration; })) {
    return kConfiguration;
  }
  if (CountOf(Severity::kFail) > 0) {
    return kFailed;
  }
  return CountOf(Severity::kWarn) > 0 ? kWarned : 0;
}

const CheckResult* DoctorResult::Find(std::string_view id) const {
  const auto found = std::ranges::find(checks, id, &CheckResult::id);
  return found == checks.end() ? nullptr : &*found;
}

}  // namespace podgpu
