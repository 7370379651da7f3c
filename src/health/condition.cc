#include "health/condition.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "health/readiness.h"
#include "topology/device_state.h"

namespace podgpu {
namespace {

using Tenths = ConditionBasis::Tenths;

std::string Seconds(std::chrono::duration<double> duration) {
  return absl::StrFormat("%.1f s", duration.count());
}

// The first that applies counts: a hung call explains everything after it, and the state that the
// source itself reports explains missing values.
// A source that answers is not healthy for that reason alone: it may give no value of any device.
PartCondition JudgeDriver(const ConditionBasis& basis) {
  if (basis.hung_call) {
    return {
        "driver", PartState::kUnresponsive,
        absl::StrFormat("the call \"%s\" has not returned for %s; values are withdrawn after %s",
                        SourceCallName(*basis.hung_call), Seconds(basis.hung_for),
                        Seconds(basis.stale_after))};
  }
  const SourceStatus& source = *basis.source;
  if (source.state != PartState::kOk && source.state != PartState::kDegraded) {
    return {"driver", source.state, source.detail, source.remedy};
  }
  if (basis.awaits_reading) {
    return {"driver", PartState::kUnresponsive,
            source.detail + "; a hung call has returned, but no reading has ended since"};
  }
  if (basis.topology != nullptr && basis.devices_are_stale) {
    return {"driver", PartState::kUnresponsive,
            absl::StrFormat("%s; the newest reading is %s old", source.detail,
                            Seconds(basis.stale_for))};
  }
  if (const std::string silence = WhyNothingIsServed(basis); !silence.empty()) {
    return {"driver", PartState::kUnresponsive, source.detail + "; " + silence};
  }
  return {"driver", source.state, source.detail, source.remedy};
}

PartCondition JudgeKubelet(const ConditionBasis& basis) {
  PartState state = basis.pods->state;
  std::string detail = basis.pods->detail;
  if (basis.OwnersAreWithdrawn()) {
    state = state == PartState::kOk ? PartState::kDegraded : state;
    detail += absl::StrFormat(
        ". Owners are withdrawn: the last list is %s old, and they stay for %s after it",
        Seconds(basis.owners_for), Seconds(basis.owners_stay_for));
  } else if (basis.pods->state == PartState::kDegraded) {
    detail += absl::StrFormat(". Owners are %s old; they are withdrawn after %s",
                              Seconds(basis.owners_for), Seconds(basis.owners_stay_for));
  }
  if (basis.owners != nullptr && !basis.owners->unmatched.empty()) {
    const UnmatchedDevice& first = basis.owners->unmatched.front();
    const size_t count = basis.owners->unmatched.size();
    detail += absl::StrFormat("; %s %s no device, the first: \"%s\" of %s (%s)",
                              Counted(count, "device id"), count == 1 ? "matches" : "match",
                              first.device_id, first.resource, UnmatchedReasonName(first.reason));
  }
  return {"kubelet", state, std::move(detail)};
}

PartCondition JudgeContainers(const ConditionBasis& basis) {
  PartCondition part{"containers", basis.containers->state, basis.containers->detail};
  if (basis.containers_are_withdrawn) {
    absl::StrAppendFormat(&part.detail,
                          ". Container labels are withdrawn: the last list is older than %s",
                          Seconds(basis.owners_stay_for));
  }
  if (basis.owners != nullptr && !basis.owners->unmatched_of_containers.empty()) {
    const std::vector<std::string>& unmatched = basis.owners->unmatched_of_containers;
    part.state = part.state == PartState::kOk ? PartState::kDegraded : part.state;
    absl::StrAppendFormat(&part.detail, "; %s without a match, the first: %s",
                          Counted(unmatched.size(), "device"), unmatched.front());
  }
  return part;
}

// Returns for example "2 bad requests, 1 closed at a deadline": each kind of refusal that has
// happened.
std::string DescribeRefused(const HttpServerStats& clients) {
  const std::pair<uint64_t, std::string_view> rows[] = {
      {clients.bad_requests, "bad requests"},
      {clients.deadlines, "closed at a deadline"},
      {clients.displaced, "closed for newer ones"},
      {clients.turned_away, "turned away"},
      {clients.accept_errors, "not accepted"},
      {clients.unauthorized, "without a password"},
      {clients.rate_limited, "above the rate limit"},
      {clients.failed_handshakes, "failed in the TLS handshake"},
      {clients.cross_site, "from another site"},
      {clients.foreign_host, "with a host name that is not allowed"},
  };
  std::string text;
  for (const auto& [count, what] : rows) {
    if (count > 0) {
      absl::StrAppendFormat(&text, "%s%d %s", text.empty() ? "" : ", ", count, what);
    }
  }
  return text;
}

PartCondition JudgeClients(const ConditionBasis& basis) {
  const std::string refused = DescribeRefused(basis.clients);
  if (basis.clients.web_config_is_old) {
    return {"clients", PartState::kDegraded,
            "the changed web configuration cannot be used; the previous one stays in force, the "
            "log says why"};
  }
  if (basis.too_many_clients) {
    return {"clients", PartState::kDegraded,
            absl::StrFormat("too many connections in the last minute; probes have reserved slots. "
                            "Refused since the start: %s",
                            refused)};
  }
  if (refused.empty()) {
    return {"clients", PartState::kOk, "no client was refused since the start"};
  }
  return {"clients", PartState::kOk, "all clients are served. Refused since the start: " + refused};
}

PartCondition JudgeConfig(const ConfigNotes& config) {
  std::string detail = absl::StrFormat("%d metrics of %s", config.metrics, config.counters);
  if (!config.refusal.empty()) {
    absl::StrAppendFormat(&detail, " as last accepted; the current content is refused: %s",
                          config.refusal);
    return {"config", PartState::kDegraded, std::move(detail)};
  }
  const size_t count = config.warnings.size();
  if (count == 0) {
    return {"config", PartState::kOk, std::move(detail)};
  }
  absl::StrAppendFormat(&detail, "; %d %s: %s", count,
                        count == 1 ? "warning" : "warnings, the first", config.warnings.front());
  return {"config", PartState::kDegraded, std::move(detail)};
}

bool AsksForHealth(const FindingsAsked& asked) { return asked.health || asked.peers; }

PartCondition JudgePodMetadata(const ConditionBasis& basis) {
  PartCondition part{"pod metadata", basis.api_pods->state, basis.api_pods->detail};
  if (basis.metadata_is_withdrawn) {
    absl::StrAppendFormat(
        &part.detail, ". Labels and uids of pods are withdrawn: the last list is more than %s old",
        Seconds(basis.metadata_stays_for));
  } else if (part.state == PartState::kDegraded) {
    absl::StrAppendFormat(&part.detail,
                          ". Labels and uids of pods are withdrawn %s after the last list",
                          Seconds(basis.metadata_stays_for));
  }
  if (basis.owners != nullptr && !basis.owners->dropped_labels.empty()) {
    const DroppedLabels& first = basis.owners->dropped_labels.front();
    part.state = part.state == PartState::kOk ? PartState::kDegraded : part.state;
    absl::StrAppendFormat(&part.detail,
                          "; %s with more labels than a row can carry (%d, or %d bytes), the "
                          "first: %d of %s/%s are "
                          "left out. Select labels with --kubernetes-pod-label-allowlist-regex",
                          Counted(basis.owners->dropped_labels.size(), "pod"), kMostPodLabels,
                          kMostPodLabelBytes, first.count, first.pod_namespace, first.pod);
  }
  return part;
}

// Judges the input of DCGM_EXP_GPU_HEALTH_STATUS and DCGM_EXP_P2P_STATUS.  A note of the source
// about other findings is shown here too.
PartCondition JudgeFindings(const ConditionBasis& basis) {
  const char* const name = AsksForHealth(basis.asked) ? "health and paths" : "DCGM's findings";
  if (basis.note != nullptr) {
    return {name, basis.note->is_fault ? PartState::kDegraded : PartState::kOk, basis.note->text};
  }
  const size_t gpus = basis.topology->gpus.size();
  const bool lacks_health = basis.asked.health && !basis.health_is_told && gpus > 0;
  const bool lacks_peers = basis.asked.peers && !basis.peers_are_told && gpus > 1;
  if (lacks_health || lacks_peers) {
    return {name, PartState::kDegraded,
            absl::StrFormat("this source does not report: %s%s%s", lacks_health ? "health" : "",
                            lacks_health && lacks_peers ? ", " : "",
                            lacks_peers ? "paths between GPUs" : "")};
  }
  return {name, PartState::kOk, "reported at each reading"};
}

PartCondition JudgeProcesses(const ConditionBasis& basis) {
  PartCondition part{"processes", basis.processes->state, basis.processes->detail};
  if (basis.naming_note != nullptr) {
    part.state = part.state == PartState::kOk ? PartState::kDegraded : part.state;
    part.detail += "; " + *basis.naming_note;
  }
  return part;
}

// Describes the containers outside Kubernetes on a GPU and its instances: "free", "container NAME",
// "2 containers".
std::string DescribeContainers(const ConditionBasis& basis, uint16_t gpu) {
  if (basis.containers->value == nullptr) {
    return "not known: the container runtime has not answered";
  }
  if (basis.containers_are_withdrawn) {
    return "not known: the container runtime's last list is too old";
  }
  std::set<std::string_view> names;
  const auto& by_entity = basis.owners->containers_by_entity;
  for (size_t i = 0; i < by_entity.size(); ++i) {
    if (basis.topology->entities[i].gpu == gpu) {
      names.insert(by_entity[i].begin(), by_entity[i].end());
    }
  }
  if (names.empty()) {
    return "free";
  }
  return names.size() == 1 ? "container " + std::string(*names.begin())
                           : Counted(names.size(), "container");
}

// Describes the owners of a GPU and its instances together: "free", "ns/pod (container)", "in
// another namespace", "4 owners, shared".
std::string DescribeOwners(const ConditionBasis& basis, uint16_t gpu) {
  if (basis.containers != nullptr) {
    return DescribeContainers(basis, gpu);
  }
  if (basis.pods->value == nullptr) {
    return "not known: the kubelet has not answered";
  }
  if (!basis.owners_are_known) {
    return "not known: the kubelet's last answer is too old";
  }
  std::vector<const Owner*> found;
  const Topology& topology = *basis.topology;
  for (size_t i = 0; i < topology.entities.size(); ++i) {
    if (topology.entities[i].gpu == gpu) {
      for (const Owner& owner : basis.owners->by_entity[i]) {
        found.push_back(&owner);
      }
    }
  }
  found = OnePerContainer(std::move(found));
  if (found.empty() && topology.HidesInstancesOf(gpu)) {
    return "not known: its MIG instances cannot be listed";
  }
  if (found.empty()) {
    return basis.pods->is_incomplete ? "not known: the kubelet's list is incomplete" : "free";
  }
  if (found.size() == 1 && basis.visible != nullptr &&
      !basis.visible->Shows(found[0]->pod_namespace)) {
    return "in another namespace";
  }
  if (found.size() == 1) {
    return absl::StrFormat("%s/%s (%s)", found[0]->pod_namespace, found[0]->pod,
                           found[0]->container);
  }
  return absl::StrFormat("%d owners%s", found.size(),
                         topology.gpus[gpu].mig_enabled ? ", MIG" : ", shared");
}

std::vector<DeviceCondition> JudgeDevices(const ConditionBasis& basis) {
  std::vector<DeviceCondition> devices;
  if (basis.topology == nullptr) {
    return devices;
  }
  const auto count = static_cast<uint16_t>(basis.topology->gpus.size());
  for (uint16_t i = 0; i < count; ++i) {
    const Gpu& gpu = basis.topology->gpus[i];
    const DeviceState state =
        JudgeState(*basis.topology, i, basis.freshness, basis.devices_are_stale);
    devices.push_back({gpu.gpu_id, std::string(DeviceStateName(state)), gpu.uuid, gpu.model,
                       gpu.pci_bus_id, DescribeOwners(basis, i),
                       i < kMaxJudgedGpus ? basis.freshness.losses[i] : DeviceLoss::kNone});
  }
  return devices;
}

Tenths InTenths(Duration age) { return std::chrono::round<Tenths>(age); }

// The part of a refresher's facts that a condition shows.  The rest changes more often.
auto Told(const PodFacts& pods) {
  return std::tuple(pods.state, std::string_view(pods.detail), pods.value != nullptr);
}
auto Told(const ProcessFacts& processes) {
  return std::tuple(processes.state, std::string_view(processes.detail));
}
auto Told(const JobFacts& jobs) { return std::tuple(jobs.state, std::string_view(jobs.detail)); }
auto Told(const ContainerFacts& containers) {
  return std::tuple(containers.state, std::string_view(containers.detail));
}
auto Told(const ApiFacts& api) { return std::tuple(api.state, std::string_view(api.detail)); }

template <typename Facts>
bool TellTheSame(const std::shared_ptr<const Facts>& a, const std::shared_ptr<const Facts>& b) {
  return a == b || (a != nullptr && b != nullptr && Told(*a) == Told(*b));
}

}  // namespace

bool ConditionBasis::operator==(const ConditionBasis& other) const {
  const auto rest = [](const ConditionBasis& basis) {
    return std::tie(basis.naming_note, basis.source, basis.topology, basis.owners,
                    basis.devices_are_stale, basis.freshness, basis.excluded_gpus,
                    basis.awaits_reading, basis.hung_call, basis.hung_for, basis.stale_for,
                    basis.owners_are_known, basis.owners_for, basis.metadata_is_withdrawn,
                    basis.containers_are_withdrawn, basis.stale_after, basis.owners_stay_for,
                    basis.metadata_stays_for, basis.clients, basis.too_many_clients, basis.config,
                    basis.asked, basis.health_is_told, basis.peers_are_told, basis.note,
                    basis.events_note, basis.text_file_failure, basis.dump_failure);
  };
  return rest(*this) == rest(other) && TellTheSame(pods, other.pods) &&
         TellTheSame(jobs, other.jobs) && TellTheSame(containers, other.containers) &&
         TellTheSame(processes, other.processes) && TellTheSame(api_pods, other.api_pods) &&
         TellTheSame(api_slices, other.api_slices);
}

ConditionBasis BasisOf(const TickFacts& facts) {
  ConditionBasis basis;
  basis.visible = facts.visible;
  basis.source = facts.source;
  basis.pods = facts.pods;
  basis.owners = facts.owners;
  basis.jobs = facts.jobs;
  basis.containers = facts.containers;
  basis.processes = facts.processes;
  basis.naming_note = facts.naming_note;
  basis.api_pods = facts.api_pods;
  basis.api_slices = facts.api_slices;
  basis.owners_are_known = facts.owners_are_known;
  basis.metadata_is_withdrawn =
      facts.api_pods != nullptr && facts.api_pods->value != nullptr && facts.usable_pods == nullptr;
  basis.containers_are_withdrawn = facts.containers != nullptr &&
                                   facts.containers->value != nullptr &&
                                   !facts.containers_are_known();
  basis.stale_after = facts.stale_after;
  basis.owners_stay_for = facts.owners_stay_for;
  basis.metadata_stays_for = facts.metadata_stays_for;
  basis.clients = facts.clients;
  basis.clients.open_connections = 0;
  basis.clients.requests = 0;
  basis.too_many_clients = facts.too_many_clients;
  basis.config = facts.config;
  basis.text_file_failure = facts.text_files.failure;
  basis.dump_failure = facts.dumps ? facts.dumps->failure : nullptr;
  basis.devices_are_stale = facts.devices_are_stale();
  basis.freshness = facts.freshness;
  basis.excluded_gpus = facts.excluded_gpus;
  basis.awaits_reading = facts.awaits_reading;
  if (facts.grid != nullptr) {
    basis.topology = facts.grid->shared_topology();
    const Findings& findings = facts.grid->findings;
    basis.asked = findings.asked;
    basis.health_is_told = !findings.health.empty();
    basis.peers_are_told = !findings.peers.empty();
    basis.note = findings.note;
    basis.events_note = findings.events_note;
  }
  if (facts.grid != nullptr && basis.devices_are_stale) {
    basis.stale_for = InTenths(facts.grid_age);
  }
  if (facts.running && facts.call_hangs()) {
    basis.hung_call = facts.running->call;
    basis.hung_for = InTenths(facts.running->elapsed);
  }
  if (facts.pods->state == PartState::kDegraded || basis.OwnersAreWithdrawn()) {
    basis.owners_for = InTenths(facts.pods_age);
  }
  return basis;
}

Condition Judge(const ConditionBasis& basis) {
  Condition condition;
  condition.parts = {JudgeDriver(basis), JudgeKubelet(basis), JudgeClients(basis),
                     JudgeConfig(*basis.config)};
  if (basis.api_pods != nullptr) {
    condition.parts.push_back(JudgePodMetadata(basis));
  }
  if (basis.api_slices != nullptr) {
    condition.parts.push_back(
        {"resource slices", basis.api_slices->state, basis.api_slices->detail});
  }
  if (basis.processes != nullptr) {
    condition.parts.push_back(JudgeProcesses(basis));
  }
  if (basis.jobs != nullptr) {
    condition.parts.push_back({"jobs", basis.jobs->state, basis.jobs->detail});
  }
  if (basis.containers != nullptr) {
    condition.parts.push_back(JudgeContainers(basis));
  }
  if (basis.topology != nullptr && (AsksForHealth(basis.asked) || basis.note != nullptr)) {
    condition.parts.push_back(JudgeFindings(basis));
  }
  if (basis.events_note != nullptr) {
    condition.parts.push_back({"events", PartState::kDegraded, basis.events_note->text});
  }
  for (const auto& [name, failure] : {std::pair("text files", &basis.text_file_failure),
                                      std::pair("dumps", &basis.dump_failure)}) {
    if (*failure != nullptr) {
      condition.parts.push_back({name, PartState::kDegraded, **failure});
    }
  }
  condition.owners_known = basis.owners_are_known;
  condition.devices = JudgeDevices(basis);
  Readiness readiness = JudgeReadiness(basis, condition.parts[0].detail);
  condition.ready = readiness.is_ready;
  condition.may_pass = readiness.may_pass;
  condition.reads = readiness.reads;
  condition.verdict = std::move(readiness.verdict);
  return condition;
}

}  // namespace podgpu
