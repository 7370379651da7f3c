// Reports what containers request of GPUs and what they use: the four families of gpu-manager.
//
// Memory in use (MiB) and SM time (percent) have a line per card and one with the sum over cards.
// Requested memory (MiB) and requested cards have one line each.  Names, labels, their order and
// HELP are those of gpu-manager.  An unknown number has no line.  Lines refer to slots;
// AppendCardUser appends their numbers each time.  Pure functions; called on the tick thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/series_plan.h"
#include "process/keys.h"
#include "sample/grid.h"
#include "sample/value.h"
#include "view/family_doc.h"

namespace podgpu {

// The request of a container.
struct CardsAsked {
  std::optional<double> cards = {};
  std::optional<double> memory_mib = {};
  // Set if the amount is not given: the request is this part of the memory of these GPUs and
  // instances.
  std::vector<EntityId> memory_of = {};
  double memory_share = 1;
  bool operator==(const CardsAsked&) const = default;
};

// A container that requests or holds GPUs, or is in a pod with such a container.
struct CardUser {
  struct Card {
    uint32_t gpu = 0;  // Index of the GPU.
    std::optional<DeviceNumber> device;
    bool operator==(const Card&) const = default;
  };
  std::string name_space, pod, container;
  std::string container_id;  // The id from the container runtime; empty if not known.
  bool is_told = false;      // Its processes can be distinguished from those of other containers.
  std::vector<Card> cards;   // Ascending.
  std::optional<CardsAsked> asked;
  bool operator==(const CardUser&) const = default;
};

// The use of a card by the processes of a container; a number is empty if one of them cannot be
// measured.
struct CardUse {
  std::optional<uint64_t> memory_bytes = 0;
  std::optional<uint64_t> sm_percent = 0;
};

// The families, in the order of the page.
std::vector<FamilyDoc> VcudaFamilies();

uint32_t VcudaSlotCount(std::span<const CardUser> users);

// Adds the lines of all containers. `first_slot`: the first slot of the first container.
void AddVcudaView(std::span<const CardUser> users, const std::string& node, uint32_t first_slot,
                  PlanBuilder& plan);

// Appends the numbers of one container: `uses` of its cards, in their order.  The memory of the
// cards is read from `grid`.
void AppendCardUser(const CardUser& user, std::span<const CardUse> uses, const Grid& grid,
                    std::vector<Value>& slots);

}  // namespace podgpu
