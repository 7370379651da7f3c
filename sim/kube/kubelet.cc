#include "sim/kube/kubelet.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include "pod_resources_v1.grpc.pb.h"
#include "pod_resources_v1alpha1.grpc.pb.h"
#include "sim/kube/kubelet_socket.h"
#include "sim/scenario/run_writer.h"
#include "sim/world/dra_names.h"

namespace podgpu::sim {
namespace {

// The kubelet's limits for all clients and versions together (kubernetes v1.28 to v1.37,
// pkg/kubelet/apis/podresources/constants.go).
constexpr double kCallsPerSecond = 100;
constexpr double kBurstCalls = 10;
constexpr mode_t kSocketRights = 0755;  // Only root may connect, which needs write access.

// A token bucket: full at first; each call takes one token.
class RateLimit {
 public:
  explicit RateLimit(Clock& clock) : clock_(clock), filled_at_(clock.Now()) {}

  bool Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Instant now = clock_.Now();
    const double passed_s = std::chrono::duration<double>(now - filled_at_).count();
    filled_at_ = now;
    tokens_ = std::min(kBurstCalls, tokens_ + passed_s * kCallsPerSecond);
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  Clock& clock_;
  std::mutex mutex_;  // Guards all below: the server answers on several threads.
  Instant filled_at_;
  double tokens_ = kBurstCalls;
};

void SetNumaNode(int node, v1::ContainerDevices& entry) {
  entry.mutable_topology()->add_nodes()->set_id(node);
}
void SetNumaNode(int /*node*/, v1alpha1::ContainerDevices& /*entry*/) {
}  // v1alpha1 has no topology.

// Adds one entry per device id and NUMA node, as the kubelet does.
template <typename Message>
void AddDevice(const PodDevice& device, int numa_nodes, Message& holder) {
  for (int node = 0; node < numa_nodes; ++node) {
    auto& entry = *holder.add_devices();
    entry.set_resource_name(std::string(device.resource));
    entry.add_device_ids(std::string(device.device_id));
    if (numa_nodes > 1) {
      SetNumaNode(node, entry);
    }
  }
}

// One claim per container, with its devices from dynamic resource allocation; v1alpha1 has no
// claims.
void AddClaimed(const PodDevice& device, const std::string& pool, const v1::PodResources& pod,
                v1::ContainerResources& container) {
  if (container.dynamic_resources_size() == 0) {
    v1::DynamicResource& claim = *container.add_dynamic_resources();
    claim.set_claim_namespace(pod.namespace_());
    claim.set_claim_name(pod.name() + "-" + container.name());
  }
  v1::ClaimResource& resource = *container.mutable_dynamic_resources(0)->add_claim_resources();
  resource.set_driver_name(std::string(device.resource));
  resource.set_pool_name(pool);
  resource.set_device_name(std::string(device.device_id));
}
void AddClaimed(const PodDevice& /*device*/, const std::string& /*pool*/,
                const v1alpha1::PodResources& /*pod*/,
                v1alpha1::ContainerResources& /*container*/) {}

// Writes pods into a ListPodResourcesResponse of either version; with a name, that pod only.
template <typename Response>
class PodWriter final : public PodVisitor {
 public:
  PodWriter(Response& response, const World& world, KubeletBehaviour::Listing listing)
      : response_(response),
        pool_(world.node_name()),
        numa_nodes_(world.numa_nodes_per_device()),
        listing_(listing) {}

  void Pod(const PodFacts& pod) override {
    using Listing = KubeletBehaviour::Listing;
    is_listed_ =
        listing_ == Listing::kAll || (listing_ == Listing::kStaticPods && !pod.config_hash.empty());
    if (!is_listed_) {
      return;
    }
    pod_ = response_.add_pod_resources();
    pod_->set_name(std::string(pod.name));
    pod_->set_namespace_(std::string(pod.pod_namespace));
  }
  void Container(const ContainerFacts& container) override {
    if (is_listed_) {
      container_ = pod_->add_containers();
      container_->set_name(std::string(container.name));
    }
  }
  void Device(const PodDevice& device) override {
    if (!is_listed_) {
      return;
    }
    if (device.resource == kDraDriver) {
      AddClaimed(device, pool_, *pod_, *container_);
    } else {
      AddDevice(device, numa_nodes_, *container_);
    }
  }

 private:
  using PodMessage = typename std::decay_t<decltype(std::declval<Response>().pod_resources(0))>;
  using ContainerMessage =
      typename std::decay_t<decltype(std::declval<PodMessage>().containers(0))>;

  Response& response_;
  const std::string pool_;  // The pool of the node's devices in claims.
  const int numa_nodes_;    // NUMA nodes of each device.
  const KubeletBehaviour::Listing listing_;
  bool is_listed_ = true;  // Whether the visited pod is listed.
  PodMessage* pod_ = nullptr;
  ContainerMessage* container_ = nullptr;
};

class AllocatableWriter final : public PodVisitor {
 public:
  AllocatableWriter(v1::AllocatableResourcesResponse& response, int numa_nodes)
      : response_(response), numa_nodes_(numa_nodes) {}
  void Pod(const PodFacts& /*pod*/) override {}
  void Container(const ContainerFacts& /*container*/) override {}
  void Device(const PodDevice& device) override {
    if (device.resource != kDraDriver) {
      AddDevice(device, numa_nodes_, response_);
    }
  }

 private:
  v1::AllocatableResourcesResponse& response_;
  const int numa_nodes_;  // NUMA nodes of each device.
};

// Fills a reply with pods that hold one network device each, until it has `bytes`.
template <typename Response>
void FillUp(Response& response, int64_t bytes) {
  const std::string tail(80, 'x');  // Controllers make long names.
  auto size = static_cast<int64_t>(response.ByteSizeLong());
  for (int i = 0; size < bytes; ++i) {
    auto& pod = *response.add_pod_resources();
    pod.set_name(absl::StrFormat("filler-%d-%s", i, tail));
    pod.set_namespace_("filler");
    auto& container = *pod.add_containers();
    container.set_name("main");
    auto& device = *container.add_devices();
    device.set_resource_name("example.com/nic");
    device.add_device_ids(absl::StrFormat("eth-%d-%s", i, tail));
    const auto pod_bytes = static_cast<int64_t>(pod.ByteSizeLong());
    size += pod_bytes + 1 + (pod_bytes < 128 ? 1 : 2);  // Its key and its length.
  }
}

// Shared by both services: the node, and the gate that every call passes.
class Node {
 public:
  Node(RunDirectory& directory, Clock& clock)
      : directory_(directory), clock_(clock), limit_(clock) {}

  void Behave(const KubeletBehaviour& next) {
    const std::lock_guard<std::mutex> lock(mutex_);
    behaviour_ = next;
  }
  KubeletBehaviour behaviour() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return behaviour_;
  }

  // Calls that wait now or later end at once.
  void EndWaits() { end_waits_.request_stop(); }
  void AllowWaits() { end_waits_ = std::stop_source(); }

  // Returns OK when a call of `version` may be answered.
  grpc::Status Admit(std::string_view version, const grpc::ServerContext& call) {
    const KubeletBehaviour now = behaviour();
    if (!Wait(now.delay, call)) {
      return {grpc::StatusCode::UNAVAILABLE, "the server is stopping"};
    }
    if (now.is_denied) {
      return {grpc::StatusCode::PERMISSION_DENIED, "permission denied"};
    }
    if (!directory_.world().kubelet_has(version) || (now.is_without_v1 && version == "v1")) {
      return {grpc::StatusCode::UNIMPLEMENTED,
              absl::StrFormat("unknown service %s.PodResourcesLister", version)};
    }
    if (now.is_rate_limited || !limit_.Take()) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
    }
    return grpc::Status::OK;
  }

  template <typename Response>
  void List(Response& response) {
    const KubeletBehaviour now = behaviour();
    PodWriter<Response> writer(response, directory_.world(), now.listing);
    directory_.world().VisitListedPods(directory_.Now(), writer);
    FillUp(response, now.reply_bytes);
  }

  // With the feature gate off the kubelet returns an error with the code UNKNOWN.
  grpc::Status Allocatable(v1::AllocatableResourcesResponse& response) {
    if (!directory_.world().kubelet_has_inventory()) {
      return {grpc::StatusCode::UNKNOWN, "GetAllocatableResources is disabled"};
    }
    AllocatableWriter writer(response, directory_.world().numa_nodes_per_device());
    directory_.world().VisitAllocatable(directory_.Now(), writer);
    return grpc::Status::OK;
  }

 private:
  // Waits in steps, since a call cannot see that its client has given up.  False when the server
  // ends.
  bool Wait(std::chrono::milliseconds delay, const grpc::ServerContext& call) {
    constexpr std::chrono::milliseconds kStep{50};
    const std::stop_token stop = end_waits_.get_token();
    const Instant end = clock_.Now() + delay;
    while (clock_.Now() < end && !call.IsCancelled()) {
      if (!clock_.WaitUntil(std::min(end, clock_.Now() + kStep), stop)) {
        return false;
      }
    }
    return true;
  }

  RunDirectory& directory_;
  Clock& clock_;
  RateLimit limit_;
  std::stop_source end_waits_;  // Changed only while no server runs.
  mutable std::mutex mutex_;    // Guards behaviour_: the server's threads read it.
  KubeletBehaviour behaviour_;
};

// Replaces an answer by other bytes when the fault says so: a length far beyond the end.
class Garbler final : public grpc::experimental::Interceptor {
 public:
  explicit Garbler(const Node& node) : node_(node) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_MESSAGE) &&
        node_.behaviour().is_garbled) {
      const grpc::Slice bytes("\x0a\xff\xff\xff\x7f garbage");
      *methods->GetSerializedSendMessage() = grpc::ByteBuffer(&bytes, 1);
    }
    methods->Proceed();
  }

 private:
  const Node& node_;
};

class GarblerFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit GarblerFactory(const Node& node) : node_(node) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* /*call*/) override {
    return new Garbler(node_);  // NOLINT(cppcoreguidelines-owning-memory): gRPC deletes it.
  }

 private:
  const Node& node_;
};

class ServiceV1 final : public v1::PodResourcesLister::Service {
 public:
  explicit ServiceV1(Node& node) : node_(node) {}

  grpc::Status List(grpc::ServerContext* context, const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1", *context);
    if (admitted.ok()) {
      node_.List(*response);
    }
    return admitted;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* context,
                                       const v1::AllocatableResourcesRequest* /*request*/,
                                       v1::AllocatableResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1", *context);
    return admitted.ok() ? node_.Allocatable(*response) : admitted;
  }

  // The kubelet does not use NOT_FOUND here: an unknown pod is an error with the code UNKNOWN.
  grpc::Status Get(grpc::ServerContext* context, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1", *context);
    if (!admitted.ok()) {
      return admitted;
    }
    v1::ListPodResourcesResponse all;
    node_.List(all);
    for (v1::PodResources& pod : *all.mutable_pod_resources()) {
      if (pod.name() == request->pod_name() && pod.namespace_() == request->pod_namespace()) {
        response->mutable_pod_resources()->Swap(&pod);
        return grpc::Status::OK;
      }
    }
    return {grpc::StatusCode::UNKNOWN,
            absl::StrFormat("pod %s in namespace %s not found", request->pod_name(),
                            request->pod_namespace())};
  }

 private:
  Node& node_;
};

class ServiceV1alpha1 final : public v1alpha1::PodResourcesLister::Service {
 public:
  explicit ServiceV1alpha1(Node& node) : node_(node) {}

  grpc::Status List(grpc::ServerContext* context,
                    const v1alpha1::ListPodResourcesRequest* /*request*/,
                    v1alpha1::ListPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1alpha1", *context);
    if (admitted.ok()) {
      node_.List(*response);
    }
    return admitted;
  }

 private:
  Node& node_;
};

class GrpcKubelet final : public FakeKubelet {
 public:
  GrpcKubelet(RunDirectory& directory, Clock& clock, std::string socket_path)
      : socket_path_(std::move(socket_path)),
        node_(directory, clock),
        v1_(node_),
        v1alpha1_(node_) {}
  GrpcKubelet(const GrpcKubelet&) = delete;
  GrpcKubelet& operator=(const GrpcKubelet&) = delete;

  ~GrpcKubelet() override {
    StopServer();
    unlink(socket_path_.c_str());
  }

  Status Behave(const KubeletBehaviour& next) override {
    node_.Behave(next);
    const KubeletBehaviour before = std::exchange(behaviour_, next);
    if (next.socket != before.socket || next.start != before.start) {
      PODGPU_RETURN_IF_ERROR(ReplaceSocket(next.socket));
    }
    return ApplyRights(next.is_denied);
  }

  // Listens on a temporary name, then renames it to the socket's path.
  Status Listen() {
    const std::filesystem::path temporary =
        std::filesystem::path(socket_path_).replace_filename("new");
    node_.AllowWaits();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + temporary.string(), grpc::InsecureServerCredentials());
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> garblers;
    garblers.push_back(std::make_unique<GarblerFactory>(node_));
    builder.experimental().SetInterceptorCreators(std::move(garblers));
    builder.RegisterService(&v1_);
    builder.RegisterService(&v1alpha1_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::UnavailableError(socket_path_ + ": cannot create the kubelet's socket");
    }
    // gRPC creates it with the umask's rights; the kubelet's socket belongs to root with these
    // rights.
    if (chmod(temporary.c_str(), kSocketRights) != 0 ||
        rename(temporary.c_str(), socket_path_.c_str()) != 0) {
      return FileError();
    }
    return absl::OkStatus();
  }

 private:
  Status FileError() const {
    return absl::UnavailableError(
        absl::StrFormat("%s: %s", socket_path_, std::generic_category().message(errno)));
  }

  // Ends every connection; the socket's file stays and refuses connections.
  void StopServer() {
    nonsense_.reset();
    if (server_ != nullptr) {
      node_.EndWaits();
      server_->Shutdown(std::chrono::system_clock::time_point::min());
      server_.reset();
    }
  }

  Status ReplaceSocket(KubeletBehaviour::Socket kind) {
    StopServer();
    rights_.reset();
    switch (kind) {
      case KubeletBehaviour::Socket::kServed:
        return Listen();
      case KubeletBehaviour::Socket::kGone:
        unlink(socket_path_.c_str());
        return absl::OkStatus();
      case KubeletBehaviour::Socket::kRefusing:
        return PlaceDeadSocket(socket_path_);
      case KubeletBehaviour::Socket::kNoHttp2:
        break;
    }
    PODGPU_ASSIGN_OR_RETURN(nonsense_, NonsenseServer::Start(socket_path_));
    return absl::OkStatus();
  }

  // Removes all rights from the socket's file, or restores them.
  Status ApplyRights(bool is_denied) {
    struct stat facts {};
    if (is_denied == rights_.has_value() || stat(socket_path_.c_str(), &facts) != 0) {
      return absl::OkStatus();
    }
    const mode_t wanted = is_denied ? 0 : *rights_;
    if (chmod(socket_path_.c_str(), wanted) != 0) {
      return FileError();
    }
    rights_ = is_denied ? std::optional(facts.st_mode & 07777) : std::nullopt;
    return absl::OkStatus();
  }

  const std::string socket_path_;
  Node node_;
  ServiceV1 v1_;
  ServiceV1alpha1 v1alpha1_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<NonsenseServer> nonsense_;
  KubeletBehaviour behaviour_;    // Copy of node_'s; used on the caller's thread.
  std::optional<mode_t> rights_;  // The file's normal rights while access is denied.
};

}  // namespace

StatusOr<std::unique_ptr<FakeKubelet>> FakeKubelet::Start(RunDirectory& directory, Clock& clock,
                                                          const std::string& socket_path) {
  PODGPU_RETURN_IF_ERROR(CheckSocketPath(socket_path));
  auto kubelet = std::make_unique<GrpcKubelet>(directory, clock, socket_path);
  PODGPU_RETURN_IF_ERROR(kubelet->Listen());
  return kubelet;
}

}  // namespace podgpu::sim
