#include "sim/kube/api_face.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"

#include "sim/kube/whole_file.h"
#include "sim/world/dra_names.h"
#include "sim/world/share_names.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kGroupPath = "/apis/resource.k8s.io";
constexpr std::string_view kGroup =
    R"({"kind":"APIGroup","apiVersion":"v1","name":"resource.k8s.io","versions":[)"
    R"({"groupVersion":"resource.k8s.io/v1","version":"v1"},)"
    R"({"groupVersion":"resource.k8s.io/v1beta1","version":"v1beta1"}],)"
    R"("preferredVersion":{"groupVersion":"resource.k8s.io/v1","version":"v1"}})";
constexpr std::string_view kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";
constexpr std::string_view kOlderSlicesPath = "/apis/resource.k8s.io/v1beta1/resourceslices";
constexpr std::string_view kEndpointsPath = "/apis/discovery.k8s.io/v1/endpointslices";
constexpr std::string_view kNodesPath = "/api/v1/nodes";
constexpr std::string_view kMapsPath = "/api/v1/configmaps";
constexpr std::string_view kSliceName = "gpus";

std::string Member(std::string_view name, std::string_view value) {
  return "\"" + std::string(name) + "\":\"" + std::string(value) + "\"";
}

std::string Attribute(std::string_view name, std::string_view value) {
  return "\"" + std::string(name) + "\":{" + Member("string", value) + "}";
}

std::string LabelsOf(std::string_view name) {
  const size_t dash = name.rfind('-');
  const std::string_view index = dash == std::string_view::npos ? "" : name.substr(dash + 1);
  const bool numbered =
      !index.empty() && index.find_first_not_of("0123456789") == std::string_view::npos;
  return numbered ? Member("app.kubernetes.io/name", name.substr(0, dash)) + "," +
                        Member("apps.kubernetes.io/pod-index", index)
                  : Member("app.kubernetes.io/name", name);
}

// The kubelet's annotations of a static pod: on its mirror at the API server, or on the pod itself.
std::string NotesOnStatic(std::string_view config_hash, PodSource source) {
  return config_hash.empty()
             ? std::string()
             : ",\"annotations\":{" +
                   Member(source == PodSource::kApiServer ? "kubernetes.io/config.mirror"
                                                          : "kubernetes.io/config.hash",
                          config_hash) +
                   "," + Member("kubernetes.io/config.source", "file") + "}";
}

// Collects the text of each pod, by namespace/name.
class PodCollector final : public PodVisitor {
 public:
  PodCollector(const World& world, PodSource source) : world_(world), source_(source) {}

  void Pod(const PodFacts& pod) override {
    const bool is_static = !pod.config_hash.empty();
    const bool is_own =
        is_static && source_ == PodSource::kKubelet;  // Otherwise it is the mirror pod.
    pod_ = &pods_[std::string(pod.pod_namespace) + "/" + std::string(pod.name)];
    pod_->is_static = is_static;
    pod_->metadata = Member("namespace", pod.pod_namespace) + "," + Member("name", pod.name) + "," +
                     Member("uid", is_own ? pod.config_hash : pod.uid) + ",\"labels\":{" +
                     LabelsOf(pod.name) + "}" + NotesOnStatic(pod.config_hash, source_);
    pod_->phase = pod.has_ended ? "Succeeded" : "Running";
  }
  void Container(const ContainerFacts& container) override {
    pod_->containers.push_back({std::string(container.name), std::string(container.container_id)});
  }
  void Device(const PodDevice& device) override {
    if (device.resource.find('/') != std::string_view::npos) {  // Otherwise it belongs to a claim.
      ++pod_->containers.back().requests[std::string(device.resource)];
    }
    if (device.resource == kVolcanoResource || device.resource == kGpushareResource) {
      pod_->containers.back().chosen.insert(device.device.gpu);
      pod_->resource = device.resource;
    }
  }

  // The text of everything visited, as a server writes it.
  std::map<std::string, ApiPodText> Texts(std::string_view node_name) const {
    std::map<std::string, ApiPodText> texts;
    for (const auto& [key, pod] : pods_) {
      texts[key] = {pod.metadata + NotesOf(pod), RestOf(pod, node_name), pod.is_static};
    }
    return texts;
  }

 private:
  struct Part {
    std::string name, id;
    std::map<std::string, int> requests = {};
    std::set<int> chosen = {};  // The GPUs that a scheduler of shares chose.
  };
  struct Whole {
    std::string metadata, phase, resource;
    std::vector<Part> containers;
    bool is_static = false;
  };

  // The annotations of the schedulers of Volcano and gpushare; gpushare chooses one GPU for the
  // pod.
  std::string NotesOf(const Whole& pod) const {
    constexpr int64_t kGib = int64_t{1} << 30;
    std::string volcano;
    int gpu = -1;
    for (const Part& part : pod.containers) {
      for (const int chosen : part.chosen) {
        gpu = chosen;
        volcano += std::string(world_.gpu(chosen).uuid) + ",NVIDIA,0,0:";
      }
      volcano += ";";
    }
    if (gpu < 0) {
      return {};
    }
    const std::string notes =
        pod.resource == kVolcanoResource
            ? Member("volcano.sh/vgpu-ids-new", volcano)
            : Member("ALIYUN_COM_GPU_MEM_IDX", std::to_string(gpu)) + "," +
                  Member("ALIYUN_COM_GPU_MEM_DEV",
                         std::to_string(world_.gpu(gpu).memory_total_bytes / kGib)) +
                  "," + Member("ALIYUN_COM_GPU_MEM_ASSIGNED", "true");
    return ",\"annotations\":{" + notes + "}";
  }

  static std::string RestOf(const Whole& pod, std::string_view node_name) {
    std::string specified;
    std::string reported;
    for (const Part& part : pod.containers) {
      const std::string comma = specified.empty() ? "" : ",";
      std::string requests;
      for (const auto& [resource, count] : part.requests) {
        requests += (requests.empty() ? "" : ",") + Member(resource, std::to_string(count));
      }
      specified += comma;
      specified += "{" + Member("name", part.name) + ",\"resources\":{\"requests\":{";
      specified += requests + "}}}";
      reported += comma;
      reported += "{" + Member("name", part.name) + ",";
      reported += Member("containerID", "containerd://" + part.id) + "}";
    }
    return ",\"spec\":{" + Member("nodeName", node_name) + ",\"containers\":[" + specified +
           "]},\"status\":{" + Member("phase", pod.phase) + ",\"containerStatuses\":[" + reported +
           "]}";
  }

  const World& world_;
  const PodSource source_;
  std::map<std::string, Whole> pods_;
  Whole* pod_ = nullptr;  // The pod that is being visited.
};

// `is_older`: in the form of v1beta1.
std::string DeviceText(const std::string& name, const std::string& attributes, bool is_older) {
  const std::string inner = "\"attributes\":{" + attributes + "}";
  return "{" + Member("name", name) + "," + (is_older ? "\"basic\":{" + inner + "}" : inner) + "}";
}

// The devices that the driver offers of one GPU: itself, or its MIG devices.
std::string DevicesOf(const World& world, int gpu, TimeUs now, bool is_older) {
  const GpuFacts facts = world.gpu(gpu);
  if (!world.mig_enabled(gpu, now)) {
    return DeviceText(DraDeviceName(facts.minor_number),
                      Attribute("type", "gpu") + "," + Attribute("uuid", facts.uuid) + "," +
                          Attribute("productName", facts.model),
                      is_older);
  }
  std::string devices;
  for (int i = 0; i < world.instance_count(gpu, now); ++i) {
    const GpuInstanceFacts instance = world.instance(gpu, i, now);
    devices += (devices.empty() ? "" : ",") +
               DeviceText(DraDeviceName(facts.minor_number, instance.profile, instance.profile_id,
                                        instance.placement_start),
                          Attribute("type", "mig") + "," +
                              Attribute("uuid", world.compute(gpu, i, 0, now).mig_uuid) + "," +
                              Attribute("parentUUID", facts.uuid) + "," +
                              Attribute("profile", instance.profile),
                          is_older);
  }
  return devices;
}

Status WriteVariables(const std::string& folder, std::string_view node_name, uint16_t port) {
  const std::string text = absl::StrFormat(
      "KUBERNETES_SERVICE_HOST=127.0.0.1\nKUBERNETES_SERVICE_PORT=%d\nNODE_NAME=%s\n"
      "PODGPU_SERVICE_ACCOUNT_DIR=%s\n",
      port, node_name, folder);
  return WriteWhole(folder + "/env", text) ? absl::OkStatus()
                                           : absl::UnavailableError(folder + "/env: cannot write");
}

std::string TokenNumber(uint64_t number) {
  return number == 0 ? std::string(kFirstToken)
                     : std::string(kFirstToken) + "-" + std::to_string(number);
}

// As the kubelet does when it renews a token.
Status ReplaceToken(const std::string& folder, const std::string& token) {
  const std::string path = folder + "/token";
  return WriteWhole(path, token) ? absl::OkStatus()
                                 : absl::UnavailableError(path + ": cannot write");
}

}  // namespace

std::map<std::string, ApiPodText> ListedPodTexts(const World& world, TimeUs t, PodSource source) {
  PodCollector collector(world, source);
  world.VisitListedPods(t, collector);
  return collector.Texts(world.node_name());
}

StatusOr<std::unique_ptr<ApiFace>> ApiFace::Start(RunDirectory& node, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<ApiFace> face(
      new ApiFace(node, folder));  // NOLINT(cppcoreguidelines-owning-memory)
  if (!face->server_.WriteCredentials(folder)) {
    return absl::UnavailableError(folder + ": cannot write token and certificate");
  }
  PODGPU_RETURN_IF_ERROR(WriteVariables(folder, node.world().node_name(), face->server_.port()));
  face->server_.Serve(std::string(kGroupPath), std::string(kGroup));
  face->PutWhatEveryClusterHas();
  face->Refresh();
  return face;
}

void ApiFace::Refresh() {
  RefreshPods();
  RefreshSlice();
}

Status ApiFace::Behave(const ApiBehaviour& next) {
  const ApiBehaviour before = std::exchange(behaviour_, next);
  if (next == before) {
    return absl::OkStatus();
  }
  Status written = absl::OkStatus();
  server_.SetDelay(next.delay);
  server_.SetGarbled(next.is_garbled);
  server_.SetForbidden(next.is_forbidden);
  server_.SetRateLimited(next.is_rate_limited);
  if (next.forgotten != before.forgotten) {
    server_.ForgetHistory();
  }
  if (next.tokens != before.tokens) {
    server_.AcceptToken(TokenNumber(next.tokens));
  }
  if (!next.is_token_old && next.tokens != written_token_) {
    written_token_ = next.tokens;
    written = ReplaceToken(folder_, TokenNumber(next.tokens));
  }
  server_.SetSilent(next.is_silent);
  server_.SetDown(next.is_down);
  if (next.is_silent == before.is_silent) {  // A change of is_silent must not end watches.
    server_.EndWatches();
  }
  return written;
}

void ApiFace::RefreshPods() {
  std::map<std::string, ApiPodText> now =
      ListedPodTexts(node_.world(), node_.Now(), PodSource::kApiServer);
  for (const auto& [key, pod] : pods_) {
    if (!now.contains(key)) {
      server_.Delete(kPodsPath, key);
    }
  }
  for (const auto& [key, pod] : now) {
    const auto known = pods_.find(key);
    if (known == pods_.end() || known->second != pod) {
      server_.Put(kPodsPath, key, pod.metadata, pod.rest);
    }
  }
  pods_ = std::move(now);
}

// The API server's own endpoints, and its certificate as a ConfigMap.
void ApiFace::PutWhatEveryClusterHas() {
  server_.Put(kEndpointsPath, "default/kubernetes",
              Member("namespace", "default") + "," + Member("name", "kubernetes") +
                  R"(,"labels":{"kubernetes.io/service-name":"kubernetes"})",
              R"(,"addressType":"IPv4","endpoints":[{"addresses":["127.0.0.1"],)"
              R"("conditions":{"ready":true}}],"ports":[{"name":"https","protocol":"TCP","port":)" +
                  std::to_string(server_.port()) + "}]");
  std::string certificate = server_.certificate();
  for (size_t at = certificate.find('\n'); at != std::string::npos;
       at = certificate.find('\n', at)) {
    certificate.replace(at, 1, "\\n");
  }
  const std::string node(node_.world().node_name());
  server_.Put(kNodesPath, "/" + node,
              Member("name", node) + ",\"labels\":{" + Member("kubernetes.io/hostname", node) +
                  "," + Member("pool", "pool-a") + "," + Member("rack", "rack-01") + "}",
              R"(,"status":{"nodeInfo":{"kubeletVersion":"v1.33.0"}})");
  server_.Put(kMapsPath, "default/kube-root-ca.crt",
              Member("namespace", "default") + "," + Member("name", "kube-root-ca.crt"),
              ",\"data\":{" + Member("ca.crt", certificate) + "}");
}

std::string ApiFace::DevicesNow(bool is_older) const {
  const World& world = node_.world();
  const TimeUs now = node_.Now();
  std::string devices;
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    const std::string more = DevicesOf(world, gpu, now, is_older);
    devices += (devices.empty() || more.empty() ? "" : ",") + more;
  }
  return devices;
}

void ApiFace::RefreshSlice() {
  std::string devices = DevicesNow(false);
  if (generation_ > 0 && devices == devices_) {
    return;
  }
  devices_ = std::move(devices);
  ++generation_;
  const auto put = [this](std::string_view path, const std::string& listed) {
    const std::string_view node_name = node_.world().node_name();
    server_.Put(path, std::string(kSliceName), Member("name", kSliceName),
                ",\"spec\":{" + Member("driver", kDraDriver) + "," + Member("nodeName", node_name) +
                    ",\"pool\":{" + Member("name", node_name) +
                    ",\"generation\":" + std::to_string(generation_) +
                    ",\"resourceSliceCount\":1},\"devices\":[" + listed + "]}");
  };
  put(kSlicesPath, devices_);
  put(kOlderSlicesPath, DevicesNow(true));
}

}  // namespace podgpu::sim
