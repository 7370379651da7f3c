// How much of a GPU a container requests, in the resources of each known device plugin.
//
// gpu-manager has units of 1/100 card and of 256 MiB.  HAMi has cards, with MiB or percent of each
// card.  NVIDIA's plugin has cards, MIG instances, and shares of either, which guarantee nothing. A
// request without an amount means the whole card or instance; a share may use all of its card, so
// it counts as the card.  Pure functions.  Facts: tkestack/gpu-manager 1.1, Project-HAMi 2.8,
// NVIDIA's device plugin 0.17.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_object.h"
#include "topology/topology.h"
#include "view/vcuda_view.h"

namespace podgpu {

struct GpuRequest {
  uint64_t vcuda_core = 0;    // Hundredths of a card.
  uint64_t vcuda_memory = 0;  // Units of 256 MiB.
  uint64_t cards = 0;
  uint64_t shares = 0;  // Of cards or instances, under a resource name that ends in ".shared".
  struct Instances {
    std::string profile;
    uint64_t count = 0;
  };
  std::vector<Instances> instances;
  uint64_t hami_memory_mib = 0;  // Of each card, like the next two.
  uint64_t hami_memory_percent = 0;
  uint64_t hami_core_percent = 0;

  bool asks_vcuda() const { return vcuda_core > 0; }
  bool asks() const {
    return asks_vcuda() || cards > 0 || shares > 0 || !instances.empty() || hami_memory_mib > 0 ||
           hami_memory_percent > 0 || hami_core_percent > 0;
  }
};

// `more_cards`: names of further resources that count as cards.
GpuRequest RequestOf(const ApiContainer& container, std::span<const std::string> more_cards);

// The devices of a container, as far as they are known.
struct GivenDevices {
  std::vector<EntityId> held;  // Assigned by the scheduler or the kubelet; each once.
  std::vector<EntityId> used;  // Its processes run there; each once.
};

// Converts a request into cards and memory, for the page of requests and use.
CardsAsked AskedBy(const GpuRequest& request, const GivenDevices& given, const Topology& topology);

}  // namespace podgpu
