// How much of a GPU a container requests, in the resources of each known device plugin.
//
// gpu-manager has units of 1/100 card and of 256 MiB.  HAMi and Volcano have cards, with memory and
// percent of each card; Volcano's unit of memory is a setting of its plugin.  gpushare has memory
// of one card, in GiB or MiB.  NVIDIA's plugin has cards, MIG instances, and shares of either,
// which guarantee nothing. A request without an amount means the whole card or instance; a share
// may use all of its card, so it counts as the card.  Pure functions.  Facts:
// tkestack/gpu-manager 1.1, Project-HAMi 2.8, Volcano 1.10, gpushare 1.0, NVIDIA's device plugin
// 0.17.
#pragma once

#include <cstdint>
#include <optional>
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
  uint64_t memory_mib = 0;  // Amount for each card, as are the next three: HAMi, Volcano.
  uint64_t memory_percent = 0;
  uint64_t core_percent = 0;
  uint64_t volcano_memory = 0;        // Amount in the unit of Volcano's plugin.
  uint64_t gpushare_memory = 0;       // Amount of one card, in GiB or MiB.
  uint64_t gpushare_card_memory = 0;  // The whole memory of that card; 0: not told.

  bool asks_vcuda() const { return vcuda_core > 0; }
  bool asks() const {
    return asks_vcuda() || cards > 0 || shares > 0 || !instances.empty() || memory_mib > 0 ||
           memory_percent > 0 || core_percent > 0 || volcano_memory > 0 || gpushare_memory > 0;
  }
};

// `more_cards`: names of further resources that count as cards.
GpuRequest RequestOf(const ApiContainer& container, std::span<const std::string> more_cards);

// The devices of a container, as far as they are known.
struct GivenDevices {
  std::vector<EntityId> held;  // Assigned by the scheduler or the kubelet; each once.
  std::vector<EntityId> used;  // Its processes run there; each once.
};

// Converts a request into cards and memory, for the page of requests and use. `volcano_unit_mib`:
// the unit of Volcano's memory, which no pod tells; without it that memory stays unknown.
CardsAsked AskedBy(const GpuRequest& request, const GivenDevices& given, const Topology& topology,
                   std::optional<uint64_t> volcano_unit_mib = std::nullopt);

}  // namespace podgpu
