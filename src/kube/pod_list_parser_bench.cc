// What the kubelet's answer costs: parsed whole, with the same bytes as before, and with the same
// pods in another order, as kubelets give them.
//
// A node of 110 pods, of which eight hold a GPU each.
#include <random>

#include <benchmark/benchmark.h>

#include "kube/pod_list_parser.h"
#include "pod_resources_v1.pb.h"

namespace podgpu {
namespace {

constexpr int kPods = 110;
constexpr int kPodsWithGpu = 8;
constexpr PodListParser::Origin kBenchOrigin = {.api_version = "v1", .connection = 1};

v1::ListPodResourcesResponse Answer() {
  v1::ListPodResourcesResponse answer;
  for (int i = 0; i < kPods; ++i) {
    v1::PodResources* pod = answer.add_pod_resources();
    pod->set_namespace_("a-namespace");
    pod->set_name("deployment-6d4cf56db6-" + std::to_string(10'000 + i));
    for (const char* name : {"main", "istio-proxy"}) {
      pod->add_containers()->set_name(name);
    }
    if (i < kPodsWithGpu) {
      v1::ContainerDevices* devices = pod->mutable_containers(0)->add_devices();
      devices->set_resource_name("nvidia.com/gpu");
      devices->add_device_ids("GPU-11111111-0000-4000-8000-00000000000" + std::to_string(i));
    }
  }
  return answer;
}

void BM_ParseWhole(benchmark::State& state) {
  const std::string message = Answer().SerializeAsString();
  for (auto _ : state) {
    benchmark::DoNotOptimize(ParsePodResources(message));
  }
  state.counters["bytes"] = static_cast<double>(message.size());
}
BENCHMARK(BM_ParseWhole)->Unit(benchmark::kMicrosecond);

void BM_ParseSameBytes(benchmark::State& state) {
  PodListParser parser{OwnPod{}};
  const std::string message = Answer().SerializeAsString();
  for (auto _ : state) {
    benchmark::DoNotOptimize(parser.Parse(message, kBenchOrigin));
  }
}
BENCHMARK(BM_ParseSameBytes)->Unit(benchmark::kMicrosecond);

void BM_ParseOtherOrder(benchmark::State& state) {
  PodListParser parser{OwnPod{}};
  v1::ListPodResourcesResponse answer = Answer();
  std::mt19937 random(18);  // NOLINT(bugprone-random-generator-seed): the same orders each time.
  std::vector<std::string> messages(16);
  for (std::string& message : messages) {
    for (int i = 1; i < kPods; ++i) {
      answer.mutable_pod_resources()->SwapElements(
          i, static_cast<int>(random() % (static_cast<unsigned>(i) + 1)));
    }
    message = answer.SerializeAsString();
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parser.Parse(messages[next++ % messages.size()], kBenchOrigin));
  }
  state.counters["parsed"] = static_cast<double>(parser.parsed_pods());
}
BENCHMARK(BM_ParseOtherOrder)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace podgpu
