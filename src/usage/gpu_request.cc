#include "usage/gpu_request.h"

#include <algorithm>
#include <optional>

#include "topology/mig_profile.h"

namespace podgpu {
namespace {

constexpr double kPerCent = 1e-2;
constexpr uint64_t kMibPerVcudaMemory = 256;
constexpr std::string_view kInstancePrefix = "nvidia.com/mig-";
constexpr std::string_view kSharedEnd = ".shared";

// The share of its board that a GPU or an instance has; 1 for a whole GPU.
double CardsIn(EntityId entity, const Topology& topology) {
  const GpuInstance* instance = topology.InstanceOf(entity);
  return instance == nullptr ? 1.0
                             : static_cast<double>(ComputeSlicesOf(instance->profile)) /
                                   ComputeSlicesOfBoard(topology.GpuOf(entity).model);
}

double CardsIn(std::span<const EntityId> entities, const Topology& topology) {
  double cards = 0;
  for (const EntityId entity : entities) {
    cards += CardsIn(entity, topology);
  }
  return cards;
}

// Assumes that all boards of a node with MIG instances are of the same model.
double CardsByName(const GpuRequest& request, const Topology& topology) {
  const std::string_view model =
      topology.gpus.empty() ? std::string_view() : topology.gpus.front().model;
  auto cards = static_cast<double>(request.cards);
  for (const GpuRequest::Instances& instances : request.instances) {
    cards += static_cast<double>(instances.count * ComputeSlicesOf(instances.profile)) /
             ComputeSlicesOfBoard(model);
  }
  return cards;
}

std::optional<double> CardsAskedBy(const GpuRequest& request, const GivenDevices& given,
                                   const Topology& topology) {
  // An amount that the request states comes first.  Then the devices that the container holds;
  // shares count as the devices that its processes use.  The number of cards requested is the last
  // resort.
  if (request.asks_vcuda()) {
    return static_cast<double>(request.vcuda_core) * kPerCent;
  }
  if (request.core_percent > 0) {
    return static_cast<double>(std::max<uint64_t>(request.cards, 1) * request.core_percent) *
           kPerCent;
  }
  if (!given.held.empty()) {
    return CardsIn(given.held, topology);
  }
  if (request.shares > 0 || request.gpushare_memory > 0) {
    return given.used.empty() ? std::nullopt : std::optional(CardsIn(given.used, topology));
  }
  return CardsByName(request, topology);
}

// gpushare's plugin counts memory in GiB or, if its --memory-unit says so, in MiB. The number of
// units of a card tells which: no card has a TiB, and none that Kubernetes shares has less than a
// GiB.
std::optional<uint64_t> GpushareUnitMib(uint64_t units_of_card) {
  constexpr uint64_t kMibPerGib = 1'024;
  return units_of_card == 0           ? std::nullopt
         : units_of_card < kMibPerGib ? std::optional(kMibPerGib)
                                      : std::optional<uint64_t>(1);
}

}  // namespace

GpuRequest RequestOf(const ApiContainer& container, std::span<const std::string> more_cards) {
  struct Amount {
    std::string_view resource;
    uint64_t GpuRequest::*amount;
  };
  constexpr Amount kAmounts[] = {{"tencent.com/vcuda-core", &GpuRequest::vcuda_core},
                                 {"tencent.com/vcuda-memory", &GpuRequest::vcuda_memory},
                                 {"nvidia.com/gpu", &GpuRequest::cards},
                                 {"nvidia.com/gpu.shared", &GpuRequest::shares},
                                 {"nvidia.com/gpumem", &GpuRequest::memory_mib},
                                 {"nvidia.com/gpumem-percentage", &GpuRequest::memory_percent},
                                 {"nvidia.com/gpucores", &GpuRequest::core_percent},
                                 {"volcano.sh/vgpu-number", &GpuRequest::cards},
                                 {"volcano.sh/vgpu-memory", &GpuRequest::volcano_memory},
                                 {"volcano.sh/vgpu-memory-percentage", &GpuRequest::memory_percent},
                                 {"volcano.sh/vgpu-cores", &GpuRequest::core_percent},
                                 {"volcano.sh/gpu-number", &GpuRequest::cards},
                                 {"volcano.sh/gpu-memory", &GpuRequest::volcano_memory},
                                 {"aliyun.com/gpu-mem", &GpuRequest::gpushare_memory}};
  GpuRequest request;
  request.gpushare_card_memory = container.gpu_memory_units;
  for (const auto& [resource, count] : container.requests) {
    const auto* const known = std::ranges::find(kAmounts, resource, &Amount::resource);
    if (known != std::end(kAmounts)) {
      request.*known->amount += count;
    } else if (resource.starts_with(kInstancePrefix) && resource.ends_with(kSharedEnd)) {
      request.shares += count;
    } else if (resource.starts_with(kInstancePrefix) && count > 0) {
      request.instances.push_back({resource.substr(kInstancePrefix.size()), count});
    } else if (std::ranges::find(more_cards, resource) != more_cards.end()) {
      request.cards += count;
    }
  }
  return request;
}

CardsAsked AskedBy(const GpuRequest& request, const GivenDevices& given, const Topology& topology,
                   std::optional<uint64_t> volcano_unit_mib) {
  CardsAsked asked{.cards = CardsAskedBy(request, given, topology)};
  const uint64_t cards = std::max<uint64_t>(request.cards, 1);
  if (request.vcuda_memory > 0) {
    asked.memory_mib = static_cast<double>(request.vcuda_memory * kMibPerVcudaMemory);
  } else if (request.memory_mib > 0) {
    asked.memory_mib = static_cast<double>(cards * request.memory_mib);
  } else if (request.volcano_memory > 0) {
    if (volcano_unit_mib) {
      asked.memory_mib = static_cast<double>(cards * request.volcano_memory * *volcano_unit_mib);
    }
  } else if (request.gpushare_memory > 0) {
    if (const std::optional<uint64_t> unit = GpushareUnitMib(request.gpushare_card_memory)) {
      asked.memory_mib = static_cast<double>(request.gpushare_memory * *unit);
    }
  } else {
    asked.memory_of = !given.held.empty() ? given.held : given.used;
    asked.memory_share =
        request.memory_percent > 0 ? static_cast<double>(request.memory_percent) * kPerCent : 1.0;
    if (asked.memory_of.empty() && !request.asks()) {
      asked.memory_mib = 0;
    }
  }
  return asked;
}

}  // namespace podgpu
