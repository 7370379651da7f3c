#include "sim/fleet/plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/strings/str_format.h"

namespace podgpu::sim {
namespace {

constexpr size_t kNodesPerBlock = 250;
constexpr size_t kFirstBlock = 16;
constexpr size_t kBlocksPerNet = 250;

constexpr std::string_view kBehaviourWords[] = {"", "  # hangs", "  # refuses",
                                                "  # answers garbage"};
static_assert(std::size(kBehaviourWords) == kFleetBehaviourCount);

size_t CountOf(size_t nodes, uint32_t percent) {
  const size_t rounded = (nodes * percent + 50) / 100;
  return percent == 0 ? 0 : std::max<size_t>(rounded, 1);
}

}  // namespace

std::vector<FleetBehaviour> PlanBehaviours(size_t nodes, const FleetShares& shares) {
  std::vector<FleetBehaviour> behaviours(nodes, FleetBehaviour::kAnswers);
  // Steps of about the golden section visit each node once and spread the bad nodes evenly.
  size_t step = std::max<size_t>(nodes * 618 / 1000, 1);
  while (nodes > 0 && std::gcd(step, nodes) != 1) {
    ++step;
  }
  size_t visited = 0;
  const auto give = [&](uint32_t percent, FleetBehaviour behaviour) {
    const size_t last = std::min(nodes, visited + CountOf(nodes, percent));
    for (; visited < last; ++visited) {
      behaviours[(nodes / 2 + visited * step) % nodes] = behaviour;
    }
  };
  give(shares.hanging, FleetBehaviour::kHangs);
  give(shares.refusing, FleetBehaviour::kRefuses);
  give(shares.garbage, FleetBehaviour::kGarbage);
  return behaviours;
}

std::string FleetAddress(size_t node) {
  const size_t block = node / kNodesPerBlock;
  return absl::StrFormat("127.%d.%d.%d", kFirstBlock + block / kBlocksPerNet, block % kBlocksPerNet,
                         node % kNodesPerBlock + 1);
}

std::string FleetNodeName(size_t node) { return absl::StrFormat("gpu-node-%04d", node + 1); }

std::vector<FleetLabel> FleetNodeLabels(size_t node) {
  constexpr size_t kNodesPerRack = 16;
  constexpr size_t kRacksPerPool = 4;
  constexpr std::string_view kPools = "abcd";
  const size_t rack = node / kNodesPerRack;
  return {{"kubernetes.io/hostname", FleetNodeName(node)},
          {"pool", std::string("pool-") + kPools[rack / kRacksPerPool % kPools.size()]},
          {"rack", absl::StrFormat("rack-%02d", rack + 1)}};
}

std::string FleetNodesFile(std::string_view scenario, const std::vector<FleetBehaviour>& behaviours,
                           uint16_t port) {
  std::string text =
      absl::StrFormat("# podgpu-sim fleet: %d nodes of the scenario %s, all of them invented.\n",
                      behaviours.size(), scenario);
  for (size_t node = 0; node < behaviours.size(); ++node) {
    absl::StrAppendFormat(&text, "%s:%d%s\n", FleetAddress(node), port,
                          kBehaviourWords[static_cast<size_t>(behaviours[node])]);
  }
  return text;
}

}  // namespace podgpu::sim
