#include "sim/scenario/mig_profiles.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace podgpu::sim {

namespace {

// table, name, order, id, compute and memory slices, MiB, SMs, media extensions
constexpr std::array<MigProfile, 35> kProfiles = {{
    {"a100-sxm4-40gb", "1g.5gb", 0, 19, 1, 1, 4'864, 14, false},
    {"a100-sxm4-40gb", "2g.10gb", 1, 14, 2, 2, 9'984, 28, false},
    {"a100-sxm4-40gb", "3g.20gb", 2, 9, 3, 4, 20'096, 42, false},
    {"a100-sxm4-40gb", "4g.20gb", 3, 5, 4, 4, 20'096, 56, false},
    {"a100-sxm4-40gb", "7g.40gb", 4, 0, 7, 8, 40'192, 98, false},
    {"a100-sxm4-40gb", "1g.5gb+me", 7, 20, 1, 1, 4'864, 14, true},
    {"a100-sxm4-40gb", "1g.10gb", 9, 15, 1, 2, 9'984, 14, false},
    {"a100-sxm4-80gb", "1g.10gb", 0, 19, 1, 1, 9'728, 14, false},
    {"a100-sxm4-80gb", "2g.20gb", 1, 14, 2, 2, 19'968, 28, false},
    {"a100-sxm4-80gb", "3g.40gb", 2, 9, 3, 4, 40'192, 42, false},
    {"a100-sxm4-80gb", "4g.40gb", 3, 5, 4, 4, 40'192, 56, false},
    {"a100-sxm4-80gb", "7g.80gb", 4, 0, 7, 8, 80'640, 98, false},
    {"a100-sxm4-80gb", "1g.10gb+me", 7, 20, 1, 1, 9'728, 14, true},
    {"a100-sxm4-80gb", "1g.20gb", 9, 15, 1, 2, 19'968, 14, false},
    {"b200", "1g.23gb", 0, 19, 1, 1, 22'528, 18, false},
    {"b200", "2g.45gb", 1, 14, 2, 2, 45'312, 36, false},
    {"b200", "3g.90gb", 2, 9, 3, 4, 90'880, 70, false},
    {"b200", "4g.90gb", 3, 5, 4, 4, 90'880, 72, false},
    {"b200", "7g.180gb", 4, 0, 7, 8, 182'016, 148, false},
    {"b200", "1g.23gb+me", 7, 20, 1, 1, 22'528, 18, true},
    {"b200", "1g.45gb", 9, 15, 1, 2, 45'312, 30, false},
    {"h100-sxm5-80gb", "1g.10gb", 0, 19, 1, 1, 9'984, 16, false},
    {"h100-sxm5-80gb", "2g.20gb", 1, 14, 2, 2, 20'096, 32, false},
    {"h100-sxm5-80gb", "3g.40gb", 2, 9, 3, 4, 40'448, 60, false},
    {"h100-sxm5-80gb", "4g.40gb", 3, 5, 4, 4, 40'448, 64, false},
    {"h100-sxm5-80gb", "7g.80gb", 4, 0, 7, 8, 81'152, 132, false},
    {"h100-sxm5-80gb", "1g.10gb+me", 7, 20, 1, 1, 9'984, 16, true},
    {"h100-sxm5-80gb", "1g.20gb", 9, 15, 1, 2, 20'096, 26, false},
    {"h200-sxm5-141gb", "1g.18gb", 0, 19, 1, 1, 16'384, 16, false},
    {"h200-sxm5-141gb", "2g.35gb", 1, 14, 2, 2, 33'280, 32, false},
    {"h200-sxm5-141gb", "3g.71gb", 2, 9, 3, 4, 66'816, 60, false},
    {"h200-sxm5-141gb", "4g.71gb", 3, 5, 4, 4, 66'816, 64, false},
    {"h200-sxm5-141gb", "7g.141gb", 4, 0, 7, 8, 142'336, 132, false},
    {"h200-sxm5-141gb", "1g.18gb+me", 7, 20, 1, 1, 16'384, 16, true},
    {"h200-sxm5-141gb", "1g.35gb", 9, 15, 1, 2, 33'280, 26, false},
}};

// The possible starts of an instance of a size: a bit per memory slice.
uint32_t StartsOf(const MigProfile& profile) {
  switch (profile.memory_slices) {
    case 1:
      return 0b0111'1111;
    case 2:
      return profile.compute_slices == 1 ? 0b0101'0101U : 0b0001'0101U;
    case 4:
      return profile.compute_slices == 3 ? 0b0001'0001U : 0b0000'0001U;
    default:
      return 0b0000'0001;
  }
}

// Places requests[order[0...]] around the occupied slices by trying all starts.  The caller orders
// them by size: large instances have the fewest starts, so a dead end shows early.
bool PlaceFrom(std::span<const MigRequest> requests, std::span<const size_t> order, uint32_t taken,
               std::vector<int>& starts) {
  if (order.empty()) {
    return true;
  }
  const MigRequest& request = requests[order.front()];
  const uint32_t allowed = StartsOf(*request.profile);
  for (int start = 0; start < kMemorySlicesPerChip; ++start) {
    const uint32_t slices = ((1U << request.profile->memory_slices) - 1U) << start;
    if (((allowed >> start) & 1U) == 0 || (taken & slices) != 0 ||
        (request.start && *request.start != start)) {
      continue;
    }
    starts[order.front()] = start;
    if (PlaceFrom(requests, order.subspan(1), taken | slices, starts)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<const MigProfile*> MigProfilesOf(std::string_view table) {
  std::vector<const MigProfile*> profiles;
  for (const MigProfile& profile : kProfiles) {
    if (profile.table == table) {
      profiles.push_back(&profile);
    }
  }
  return profiles;
}

std::optional<std::vector<int>> PlaceInstances(std::span<const MigRequest> requests) {
  int compute_slices = 0;
  for (const MigRequest& request : requests) {
    compute_slices += request.profile->compute_slices;
  }
  if (compute_slices > kComputeSlicesPerChip) {
    return std::nullopt;
  }
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&requests](size_t a, size_t b) {
    return requests[a].profile->memory_slices > requests[b].profile->memory_slices;
  });
  std::vector<int> starts(requests.size(), 0);
  if (!PlaceFrom(requests, order, 0, starts)) {
    return std::nullopt;
  }
  return starts;
}

int GpuInstanceId(const MigProfile& profile, int start) {
  switch (profile.memory_slices) {
    case 8:
      return 0;
    case 4:
      return 1 + start / 4;
    default:
      return profile.compute_slices == 2 ? 3 + start / 2 : 7 + start;
  }
}

}  // namespace podgpu::sim
