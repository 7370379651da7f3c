#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "attribution/join.h"
#include "attribution/owner_facts.h"
#include "base/percent.h"
#include "doctor/checks.h"
#include "doctor/words.h"
#include "kube/api_connection.h"
#include "kube/api_mirror.h"
#include "kube/kubelet_client.h"

namespace podgpu {
namespace {

// Shorter than the time of a check, so that the client's own message is the fact.
constexpr std::chrono::milliseconds kKubeletPatience{1'800};
constexpr std::string_view kNotAsked = "not asked for: --kubernetes is off";

bool NeedsPods(const ExporterOptions& options) {
  return (options.kubernetes && (options.pod_labels || options.view.pod_uid)) ||
         options.vcuda.enabled;
}

// The features that need the API server, in words; empty: none.
std::string NeededFor(const NodeCommand& command) {
  std::string needs;
  const auto add = [&needs](bool is_needed, std::string_view what) {
    needs += is_needed ? absl::StrFormat("%s%s", needs.empty() ? "" : ", ", what) : "";
  };
  add(NeedsPods(command.exporter) && !command.exporter.kubelet_pods, "labels and uids of pods");
  add(command.exporter.kubernetes && command.exporter.join.claims, "claims");
  add(command.counters.config_map.has_value(), "the list of metrics");
  return needs;
}

// A request that a feature makes, and the right that it needs.
struct ApiTrial {
  std::string target, what, remedy;
};

ApiTrial TrialFor(const NodeCommand& command, const ApiServerOptions& server) {
  if (NeedsPods(command.exporter) && !command.exporter.kubelet_pods) {
    return {"/api/v1/pods?limit=1&fieldSelector=" + PercentEncode("spec.nodeName=" + server.node),
            "a list of this node's pods",
            "Grant list and watch of pods to the service account: kubectl create "
            "clusterrolebinding podgpu --clusterrole=podgpu --serviceaccount=NAMESPACE:podgpu"};
  }
  if (command.exporter.kubernetes && command.exporter.join.claims) {
    return {
        "/apis/resource.k8s.io", "a request for the group resource.k8s.io",
        "Turn on dynamic resource allocation in the cluster, and let the service account see its "
        "group, or leave --kubernetes-enable-dra out"};
  }
  const ConfigMapName list = command.counters.config_map.value_or(ConfigMapName());
  return {absl::StrFormat("/api/v1/namespaces/%s/configmaps/%s", list.name_space, list.name),
          "a request for the ConfigMap of --configmap-data",
          "Make the ConfigMap, and grant get of it to the service account by a Role"};
}

Status TryApiServer(const Session& session, const ApiServerOptions& server) {
  const std::stop_source stop;
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<ApiConnection> connection,
                          ApiConnection::Open(server, session.seams.files, stop.get_token()));
  const ApiTrial trial = TrialFor(session.node(), server);
  PODGPU_ASSIGN_OR_RETURN(const ApiHead head, connection->Get(trial.target, "application/json"));
  constexpr int kServed = 200;
  constexpr int kUnauthorized = 401;
  if (head.status == kServed) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrFormat(
      "the API server at %s answers %d to %s. %s", server.host, head.status, trial.what,
      head.status == kUnauthorized
          ? "Mount the token of a service account (automountServiceAccountToken: true)"
          : trial.remedy));
}

// Returns the keys of the features that need the API server.
std::vector<std::string> LostWithoutApi(const NodeCommand& command) {
  std::vector<std::string> lost;
  if (NeedsPods(command.exporter) && !command.exporter.kubelet_pods) {
    lost.emplace_back("pod_details");
  }
  if (command.exporter.join.claims) {
    lost.emplace_back("claims");
  }
  if (command.counters.config_map) {
    lost.emplace_back("reload");
  }
  return lost;
}

std::string RemedyFor(const UnmatchedDevice& device) {
  switch (device.reason) {
    case UnmatchedReason::kNvmlMissing:
      return "let podgpu read the driver's library: --libnvidia-ml=PATH";
    case UnmatchedReason::kUnknownDevice:
      return "bring that GPU back (see gpu.states), or delete the pod that holds it";
    case UnmatchedReason::kUnknownMigUuid:
      return "delete the pod that holds that MIG instance; the instance is gone";
    case UnmatchedReason::kUnknownIdForm:
    case UnmatchedReason::kNoResourceSlice:
    case UnmatchedReason::kUnclearInstance:
      break;
  }
  return "look at /explain of the exporter for the form of the id, and at the device plugin's log";
}

size_t Held(const Owners& owners) {
  return static_cast<size_t>(std::ranges::count_if(
      owners.by_entity, [](const std::vector<Owner>& held) { return !held.empty(); }));
}

// The devices that a pod can hold: instances, and GPUs without any.
size_t Holdable(const Topology& topology) {
  std::set<uint16_t> split;
  for (const GpuInstance& instance : topology.instances) {
    split.insert(instance.gpu);
  }
  return topology.gpus.size() - split.size() + topology.instances.size();
}

// The ResourceSlices of this node, as the exporter lists them.
StatusOr<std::shared_ptr<const ApiObjects>> ListSlices(const Session& session,
                                                       const ApiServerOptions& server) {
  ApiMirror mirror(server, ApiCollection::kResourceSlices, session.seams.files);
  std::stop_source listed;
  const ApiRound round = mirror.Follow(listed.get_token(), [&listed] { listed.request_stop(); });
  if (!listed.stop_requested()) {
    return round.status;
  }
  return std::make_shared<const ApiObjects>(mirror.objects());
}

// Checks whether each claimed device is a device of this node.
Finding JudgeClaims(const Session& session, const Topology& topology,
                    const std::shared_ptr<const ApiObjects>& slices) {
  const std::shared_ptr<const PodAllocations> pods = session.pods.Get();
  const JoinOptions& join = session.node().exporter.join;
  OwnerFacts facts;
  facts.pods = pods;
  facts.slices = slices;
  const Owners owners = MakeOwners(topology, facts, join);
  const std::vector<UnmatchedDevice>& all = owners.unmatched;
  const std::vector<UnmatchedDevice> without = Join(topology, pods->allocations, join).unmatched;
  std::vector<UnmatchedDevice> unmatched;
  std::ranges::set_difference(all, without, std::back_inserter(unmatched));
  Finding finding = Finding::Ok(absl::StrFormat(
      "%s, %s of this node; %d of %s owned", Counted(pods->claimed.size(), "claimed device"),
      Counted(slices->size(), "resource slice"), Held(owners),
      Counted(Holdable(topology), "device")));
  for (const UnmatchedDevice& device : unmatched) {
    finding.evidence.emplace_back(
        device.resource,
        absl::StrFormat("%s, %s", device.device_id, UnmatchedReasonName(device.reason)));
  }
  if (!unmatched.empty()) {
    const UnmatchedDevice& first = unmatched.front();
    finding.severity = Severity::kWarn;
    absl::StrAppendFormat(&finding.fact, "; %d unmatched, the first is \"%s\" of %s (%s)",
                          unmatched.size(), first.device_id, first.resource,
                          UnmatchedReasonName(first.reason));
    finding.lose = {"claims"};
    finding.remedy = "compare with: kubectl get resourceslices";
    finding.change = "claims that podgpu can match";
  }
  return finding;
}

}  // namespace

Finding CheckKubeSocket(Session& session) {
  const NodeCommand& node = session.node();
  if (!node.exporter.kubernetes) {
    Finding finding = Finding::Skip(std::string(kNotAsked));
    finding.blocks = true;
    return finding;
  }
  KubeletClientOptions options = node.kubelet;
  options.timeout = std::min(options.timeout, kKubeletPatience);
  const std::unique_ptr<PodResources> kubelet = MakeKubeletClient(options);
  const Instant begin = session.seams.clock.Now();
  StatusOr<std::shared_ptr<const PodAllocations>> listed = kubelet->List();
  if (!listed.ok()) {
    Finding finding = Failed(Severity::kWarn, listed.status(), {"pod_labels"},
                             "look at the kubelet's log on this node: journalctl -u kubelet");
    finding.change = "a kubelet that answers";
    return finding;
  }
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(session.seams.clock.Now() - begin);
  const PodAllocations& pods = **listed;
  Finding finding = Finding::Ok(absl::StrFormat("pod-resources %s, %s in %d ms", pods.api_version,
                                                Counted(pods.pod_count, "pod"), took.count()));
  finding.evidence.emplace_back("socket", options.socket);
  session.pods.Set(*std::move(listed));
  return finding;
}

Finding CheckKubeSelf(Session& session) {
  const OwnPod& own = session.node().exporter.join.ignored.own;
  if (own.name.empty()) {
    return Finding::Skip("not in a pod");
  }
  const std::shared_ptr<const PodAllocations> pods = session.pods.Get();
  if (pods->lists_own_pod) {
    return Finding::Ok(absl::StrFormat("the kubelet's list of %s has this pod, %s",
                                       Counted(pods->pod_count, "pod"), own.name));
  }
  return {.severity = Severity::kWarn,
          .fact = absl::StrFormat("the kubelet's list of %s lacks this pod, %s",
                                  Counted(pods->pod_count, "pod"), own.name),
          .lose = {"own_pod"},
          .remedy =
              "set POD_NAME and POD_NAMESPACE from the fields metadata.name and "
              "metadata.namespace, and mount the socket of this node's kubelet",
          .change = "the name of this pod in its environment"};
}

Finding CheckKubeMapping(Session& session) {
  const std::shared_ptr<const Topology> topology = session.topology();
  if (topology == nullptr) {
    return {.severity = Severity::kSkip, .caused_by = "source.choice", .blocks = true};
  }
  const std::shared_ptr<const PodAllocations> pods = session.pods.Get();
  const Owners owners = Join(*topology, pods->allocations, session.node().exporter.join);
  const size_t devices = Holdable(*topology);
  const size_t held = Held(owners);
  const bool has_claims = session.node().exporter.join.claims && !pods->claimed.empty();
  // Claims may hold the rest.
  const std::string free =
      has_claims ? "" : absl::StrFormat(", %d free", devices > held ? devices - held : 0);
  Finding finding =
      Finding::Ok(absl::StrFormat("%s: %d owned%s, %d unmatched", Counted(devices, "device"), held,
                                  free, owners.unmatched.size()));
  for (const UnmatchedDevice& device : owners.unmatched) {
    finding.evidence.emplace_back(
        device.resource,
        absl::StrFormat("%s, %s", device.device_id, UnmatchedReasonName(device.reason)));
  }
  if (has_claims) {
    finding.fact +=
        absl::StrFormat("; %s, see kube.dra", Counted(pods->claimed.size(), "claimed device"));
  }
  session.owners.Set(std::make_shared<const Owners>(owners));
  if (!owners.unmatched.empty()) {
    const UnmatchedDevice& first = owners.unmatched.front();
    finding.severity = Severity::kWarn;
    finding.fact += absl::StrFormat("; the first is \"%s\" of %s (%s)", first.device_id,
                                    first.resource, UnmatchedReasonName(first.reason));
    finding.lose = {"pod_labels"};
    finding.remedy = RemedyFor(first);
    finding.change = "device ids that podgpu can match";
  }
  return finding;
}

Finding CheckKubeApi(Session& session) {
  const NodeCommand& node = session.node();
  const std::string needs = NeededFor(node);
  if (needs.empty()) {
    return Finding::Skip("no enabled feature needs it");
  }
  const StatusOr<ApiServerOptions>& server = node.exporter.api_server;
  const Status status = server.ok() ? TryApiServer(session, *server) : Status(server.status());
  if (status.ok()) {
    return Finding::Ok(absl::StrFormat("%s answers for %s", server->host, needs));
  }
  Finding finding = Failed(Severity::kWarn, status, LostWithoutApi(node),
                           "run podgpu with a service account that may list pods");
  finding.change = "a token for the API server";
  return finding;
}

Finding CheckKubeDra(Session& session) {
  if (!session.node().exporter.join.claims) {
    return Finding::Skip("not asked for: --kubernetes-enable-dra is off");
  }
  const std::shared_ptr<const PodAllocations> pods = session.pods.Get();
  if (pods->claimed.empty()) {
    return {.severity = Severity::kNote,
            .fact = absl::StrFormat("the kubelet's list of %s has no claim",
                                    Counted(pods->pod_count, "pod")),
            .lose = {"claims"}};
  }
  const std::shared_ptr<const Topology> topology = session.topology();
  const StatusOr<ApiServerOptions>& server = session.node().exporter.api_server;
  if (topology == nullptr || !server.ok()) {
    return {.severity = Severity::kSkip,
            .caused_by = topology == nullptr ? "source.choice" : "kube.api"};
  }
  const StatusOr<std::shared_ptr<const ApiObjects>> slices = ListSlices(session, *server);
  if (!slices.ok()) {
    Finding finding = Failed(Severity::kWarn, slices.status(), {"claims"},
                             "grant list and watch of resourceslices.resource.k8s.io to the "
                             "service account of podgpu");
    finding.change = "the right to read ResourceSlices";
    return finding;
  }
  return JudgeClaims(session, *topology, *slices);
}

}  // namespace podgpu
