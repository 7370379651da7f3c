#include "sim/fake_kubelet.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_format.h"
#include <grpcpp/grpcpp.h>

#include "pod_resources_v1.grpc.pb.h"
#include "pod_resources_v1alpha1.grpc.pb.h"
#include "sim/run_writer.h"

namespace podgpu::sim {
namespace {

// The kubelet's limits for all clients and versions together (kubernetes v1.28 to v1.37,
// pkg/kubelet/apis/podresources/constants.go).
constexpr double kCallsPerSecond = 100;
constexpr double kBurstCalls = 10;

// A token bucket: full at first, one token a call.
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

// Adds one entry per device id, as the kubelet does.
template <typename Message>
void AddDevice(const PodDevice& device, Message& holder) {
  auto& entry = *holder.add_devices();
  entry.set_resource_name(std::string(device.resource));
  entry.add_device_ids(std::string(device.device_id));
}

// Writes pods into a ListPodResourcesResponse of either version; with a name, that pod only.
template <typename Response>
class PodWriter final : public PodVisitor {
 public:
  explicit PodWriter(Response& response) : response_(response) {}

  void Pod(const PodFacts& pod) override {
    pod_ = response_.add_pod_resources();
    pod_->set_name(std::string(pod.name));
    pod_->set_namespace_(std::string(pod.pod_namespace));
  }
  void Container(const ContainerFacts& container) override {
    container_ = pod_->add_containers();
    container_->set_name(std::string(container.name));
  }
  void Device(const PodDevice& device) override { AddDevice(device, *container_); }

 private:
  using PodMessage = typename std::decay_t<decltype(std::declval<Response>().pod_resources(0))>;
  using ContainerMessage =
      typename std::decay_t<decltype(std::declval<PodMessage>().containers(0))>;

  Response& response_;
  PodMessage* pod_ = nullptr;
  ContainerMessage* container_ = nullptr;
};

class AllocatableWriter final : public PodVisitor {
 public:
  explicit AllocatableWriter(v1::AllocatableResourcesResponse& response) : response_(response) {}
  void Pod(const PodFacts& /*pod*/) override {}
  void Container(const ContainerFacts& /*container*/) override {}
  void Device(const PodDevice& device) override { AddDevice(device, response_); }

 private:
  v1::AllocatableResourcesResponse& response_;
};

// What both services share: the node and the gate that every call passes.
class Node {
 public:
  Node(RunDirectory& directory, Clock& clock) : directory_(directory), limit_(clock) {}

  // OK when a call of `version` may be answered.
  grpc::Status Admit(std::string_view version) {
    if (!directory_.world().kubelet_has(version)) {
      return {grpc::StatusCode::UNIMPLEMENTED,
              absl::StrFormat("unknown service %s.PodResourcesLister", version)};
    }
    if (!limit_.Take()) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"};
    }
    return grpc::Status::OK;
  }

  template <typename Response>
  void List(Response& response) {
    PodWriter<Response> writer(response);
    directory_.world().VisitPods(directory_.Now(), writer);
  }

  // A kubelet whose gate is off answers with an error of no particular code.
  grpc::Status Allocatable(v1::AllocatableResourcesResponse& response) {
    if (!directory_.world().kubelet_has_inventory()) {
      return {grpc::StatusCode::UNKNOWN, "GetAllocatableResources is disabled"};
    }
    AllocatableWriter writer(response);
    directory_.world().VisitAllocatable(directory_.Now(), writer);
    return grpc::Status::OK;
  }

 private:
  RunDirectory& directory_;
  RateLimit limit_;
};

class ServiceV1 final : public v1::PodResourcesLister::Service {
 public:
  explicit ServiceV1(Node& node) : node_(node) {}

  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1::ListPodResourcesRequest* /*request*/,
                    v1::ListPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1");
    if (admitted.ok()) {
      node_.List(*response);
    }
    return admitted;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext* /*context*/,
                                       const v1::AllocatableResourcesRequest* /*request*/,
                                       v1::AllocatableResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1");
    return admitted.ok() ? node_.Allocatable(*response) : admitted;
  }

  // The kubelet has no NOT_FOUND here: an unknown pod is an error without a code of its own.
  grpc::Status Get(grpc::ServerContext* /*context*/, const v1::GetPodResourcesRequest* request,
                   v1::GetPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1");
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

  grpc::Status List(grpc::ServerContext* /*context*/,
                    const v1alpha1::ListPodResourcesRequest* /*request*/,
                    v1alpha1::ListPodResourcesResponse* response) override {
    grpc::Status admitted = node_.Admit("v1alpha1");
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
    if (server_ != nullptr) {
      server_->Shutdown(std::chrono::system_clock::time_point::min());
      unlink(socket_path_.c_str());
    }
  }

  // Listens beside the socket's place, then renames over it.
  Status Listen() {
    const std::filesystem::path temporary =
        std::filesystem::path(socket_path_).replace_filename("new");
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + temporary.string(), grpc::InsecureServerCredentials());
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
    builder.RegisterService(&v1_);
    builder.RegisterService(&v1alpha1_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return absl::UnavailableError(socket_path_ + ": the kubelet's socket cannot be made here");
    }
    if (rename(temporary.c_str(), socket_path_.c_str()) != 0) {
      return absl::UnavailableError(
          absl::StrFormat("%s: %s", socket_path_, std::generic_category().message(errno)));
    }
    return absl::OkStatus();
  }

 private:
  const std::string socket_path_;
  Node node_;
  ServiceV1 v1_;
  ServiceV1alpha1 v1alpha1_;
  std::unique_ptr<grpc::Server> server_;
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
