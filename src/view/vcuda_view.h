// What containers ask for of GPUs beside what they use: gpu-manager's four families.
//
// A line per card and one of the total for memory in use (MiB) and SM time (percent; the total is
// the sum over cards), and one each for what was asked for: MiB, and cards.  Names, labels, their
// order and HELP are gpu-manager's.  What cannot be told of a container has no line.  Lines refer
// to slots, which AppendCardUser appends each time.  Pure functions; the tick thread calls them.
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

namespace podgpu {

// What a container has asked for.
struct CardsAsked {
  std::optional<double> cards = {};
  std::optional<double> memory_mib = {};
  // Where that is not given: such a part of the memory of these GPUs and instances.
  std::vector<EntityId> memory_of = {};
  double memory_share = 1;
  bool operator==(const CardsAsked&) const = default;
};

// A container that asks for GPUs, holds some, or is in a pod with one that does.
struct CardUser {
  struct Card {
    uint32_t gpu = 0;  // The index.
    std::optional<DeviceNumber> device;
    bool operator==(const Card&) const = default;
  };
  std::string name_space, pod, container;
  std::string container_id;  // Of the runtime; empty while it has none, or nobody knows.
  bool is_told = false;      // Its processes can be told from those of others.
  std::vector<Card> cards;   // Ascending.
  std::optional<CardsAsked> asked;
  bool operator==(const CardUser&) const = default;
};

// What the processes of a container use of a card; nothing where one of them cannot be measured.
struct CardUse {
  std::optional<uint64_t> memory_bytes = 0;
  std::optional<uint64_t> sm_percent = 0;
};

// DCGM's field of the memory of a GPU or instance, in MiB: to be read for this view.
inline constexpr uint16_t kCardMemoryField = 250;

// For docs/metrics.md, and in the order of the page.
std::vector<Family> VcudaFamilies();
// The fifth label of each: "gpu_memory" and so on.
std::string_view VcudaLabelOf(std::string_view family);

uint32_t VcudaSlotCount(std::span<const CardUser> users);

// Adds the lines of all users; `first_slot` is where the first one's numbers begin.
void AddVcudaView(std::span<const CardUser> users, const std::string& node, uint32_t first_slot,
                  PlanBuilder& plan);

// Appends the numbers of one user: `uses` of its cards, in their order; `grid` tells the memory of
// cards.
void AppendCardUser(const CardUser& user, std::span<const CardUse> uses, const Grid& grid,
                    std::vector<Value>& slots);

}  // namespace podgpu
