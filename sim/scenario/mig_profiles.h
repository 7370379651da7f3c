// The MIG profiles of each class of board, and how instances are placed on it.
//
// Names, profile numbers and slices follow the vendor's MIG user guide; memory is what the driver
// reports for an instance, rounded to MiB.  A chip has seven compute slices and eight memory
// slices. Pure functions over a table; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace podgpu::sim {

inline constexpr int kComputeSlicesPerChip = 7;
inline constexpr int kMemorySlicesPerChip = 8;

struct MigProfile {
  std::string_view table, name;  // The table has the name of its first class.
  int order = 0;       // The driver's enumeration: entity ids follow it, small profiles first.
  int profile_id = 0;  // As the driver lists it.
  int compute_slices = 0, memory_slices = 0;
  int64_t memory_mib = 0;
  int sm_count = 0;
  bool media_extensions = false;  // "+me": one instance at most.
};

// The profiles of a table (gpu_classes.h) in order of their enumeration; empty when there is none.
std::vector<const MigProfile*> MigProfilesOf(std::string_view table);

// One requested instance.
struct MigRequest {
  const MigProfile* profile = nullptr;
  std::optional<int> start;  // The scenario's start; empty: free choice.
};

// First memory slices of all requests, in their order; empty when they do not fit.
std::optional<std::vector<int>> PlaceInstances(std::span<const MigRequest> requests);

// The driver's id of the instance with these slices at that start.
int GpuInstanceId(const MigProfile& profile, int start);

}  // namespace podgpu::sim
