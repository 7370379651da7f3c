// The boards that a scenario can name: the model, memory, power and features of each.
//
// Figures come from the vendors' public documents and general knowledge of the boards; watts are
// typical of the model, not measured.  A scenario may change them under `classes:`.  A table of
// constants; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace podgpu::sim {

struct GpuClass {
  std::string_view name;  // The name in scenarios.
  std::string_view model, brand, architecture;
  int architecture_number = 0;  // DCGM's.
  int compute_major = 0, compute_minor = 0;
  int64_t idle_mw = 0, limit_mw = 0, min_limit_mw = 0, max_limit_mw = 0;
  int64_t k_mw = 0, m_mw = 0;  // Power at 100 % SM, and at 100 % memory bandwidth.
  int64_t memory_total_mib = 0, memory_reserved_mib = 0, bar1_total_mib = 0;
  int max_sm_clock_mhz = 0, idle_sm_clock_mhz = 0, max_memory_clock_mhz = 0, sm_count = 0;
  int slowdown_temperature_c = 0, shutdown_temperature_c = 0;
  int nvlink_count = 0, pcie_generation = 0;
  int64_t pcie_bytes_per_s = 0, nvlink_bytes_per_s = 0;  // Each way; the capacity of all links.
  double resistance_k_per_w = 0, time_constant_s = 0;    // Of the cooling.
  uint32_t flags = 0;                                    // kHas... of image.h
  std::string_view mig_table;                            // Of mig_profiles.h; empty: no MIG.
};

// Every class, sorted by name.
std::span<const GpuClass> GpuClasses();

// The class called `name`, or null.
const GpuClass* FindGpuClass(std::string_view name);

}  // namespace podgpu::sim
