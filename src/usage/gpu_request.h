// How much of a GPU a container asks for, by whichever plugin's resources.
//
// gpu-manager sells hundredths of cards and 256 MiB, HAMi cards with so many MiB or percent of
// each, NVIDIA's plugin cards, MIG instances, and shares of either that promise nothing.  What is
// asked for by name alone is a card or an instance whole; a share may use all of its card, so that
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
  uint64_t vcuda_memory = 0;  // 256 MiB each.
  uint64_t cards = 0;
  uint64_t shares = 0;  // Of cards or instances, under a name that says so.
  struct Instances {
    std::string profile;
    uint64_t count = 0;
  };
  std::vector<Instances> instances;
  uint64_t hami_memory_mib = 0;  // Of each card, as the next two.
  uint64_t hami_memory_percent = 0;
  uint64_t hami_core_percent = 0;

  bool asks_vcuda() const { return vcuda_core > 0; }
  bool asks() const {
    return asks_vcuda() || cards > 0 || shares > 0 || !instances.empty() || hami_memory_mib > 0 ||
           hami_memory_percent > 0 || hami_core_percent > 0;
  }
};

// `more_cards`: names of resources that are cards besides NVIDIA's.
GpuRequest RequestOf(const ApiContainer& container, std::span<const std::string> more_cards);

// What a container has been given, as far as that is known.
struct GivenDevices {
  std::vector<EntityId> held;  // By the scheduler's word or the kubelet's; each once.
  std::vector<EntityId> used;  // Where its processes run; each once.
};

CardsAsked AskedBy(const GpuRequest& request, const GivenDevices& given, const Topology& topology);

}  // namespace podgpu
