#include "sim/scenario/gpu_classes.h"

#include <algorithm>
#include <array>

#include "sim/world/image.h"

namespace podgpu::sim {

namespace {

constexpr uint32_t kDataCenter = kHasEcc;
constexpr uint32_t kVolta = kDataCenter | kHasRetiredPages;
constexpr uint32_t kTuring = kVolta | kHasJpegOfa;
constexpr uint32_t kAmpere = kDataCenter | kHasRowRemapping | kHasJpegOfa;
constexpr uint32_t kHopper = kAmpere | kHasGpm | kHasMemoryTemperature | kPowerIsAverage;

// clang-format off
constexpr std::array<GpuClass, 11> kClasses = {{
    // Per board: name, model, brand, architecture and DCGM's number for it, compute capability;
    // watts idle, limit, least and greatest limit, per full SM and full memory bandwidth (all mW);
    // memory, reserved, BAR1 (MiB); SM, idle and memory clock (MHz), SMs; slowdown and shutdown
    // (C), links, PCIe generation; PCIe and NVLink bytes/s; K/W, s, features, MIG table.
    {"a10", "NVIDIA A10", "Nvidia", "Ampere", 7, 8, 6,
     20'000, 150'000, 100'000, 150'000, 105'000, 25'000, 23'028, 512, 32'768, 1'695, 210, 6'251, 72,
     95, 98, 0, 4, 32'000'000'000, 0, 0.3, 20, kAmpere | kPowerIsAverage, ""},
    {"a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", "Nvidia", "Ampere", 7, 8, 0,
     55'000, 400'000, 100'000, 400'000, 275'000, 60'000, 40'960, 450, 65'536, 1'410, 210, 1'215,
     108,
     92, 95, 12, 4, 32'000'000'000, 300'000'000'000, 0.1, 20, kAmpere | kHasMemoryTemperature,
     "a100-sxm4-40gb"},
    {"a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB", "Nvidia", "Ampere", 7, 8, 0,
     60'000, 400'000, 100'000, 400'000, 270'000, 70'000, 81'920, 636, 131'072, 1'410, 210, 1'593,
     108,
     92, 95, 12, 4, 32'000'000'000, 300'000'000'000, 0.1, 20, kAmpere | kHasMemoryTemperature,
     "a100-sxm4-80gb"},
    {"b200", "NVIDIA B200", "Nvidia", "Blackwell", 10, 10, 0,
     140'000, 1'000'000, 200'000, 1'000'000, 700'000, 160'000, 183'359, 800, 262'144, 1'965, 120,
     3'996, 148,
     92, 95, 18, 5, 64'000'000'000, 900'000'000'000, 0.05, 20, kHopper, "b200"},
    {"geforce-rtx-4090", "NVIDIA GeForce RTX 4090", "GeForce", "Ada", 8, 8, 9,
     20'000, 450'000, 150'000, 600'000, 350'000, 60'000, 24'564, 432, 32'768, 2'520, 210, 10'501,
     128,
     90, 95, 0, 4, 32'000'000'000, 0, 0.1, 15, kHasFan | kHasJpegOfa | kPowerIsAverage, ""},
    {"h100-pcie-80gb", "NVIDIA H100 PCIe", "Nvidia", "Hopper", 9, 9, 0,
     50'000, 350'000, 200'000, 350'000, 230'000, 60'000, 81'559, 551, 131'072, 1'755, 345, 1'593,
     114,
     92, 95, 0, 5, 64'000'000'000, 0, 0.13, 20, kHopper, "h100-sxm5-80gb"},
    {"h100-sxm5-80gb", "NVIDIA H100 80GB HBM3", "Nvidia", "Hopper", 9, 9, 0,
     70'000, 700'000, 200'000, 700'000, 480'000, 100'000, 81'559, 551, 131'072, 1'980, 345, 2'619,
     132,
     92, 95, 18, 5, 64'000'000'000, 450'000'000'000, 0.075, 20, kHopper, "h100-sxm5-80gb"},
    {"h200-sxm5-141gb", "NVIDIA H200", "Nvidia", "Hopper", 9, 9, 0,
     75'000, 700'000, 200'000, 700'000, 480'000, 120'000, 143'771, 600, 262'144, 1'980, 345, 3'201,
     132,
     92, 95, 18, 5, 64'000'000'000, 450'000'000'000, 0.075, 20, kHopper, "h200-sxm5-141gb"},
    {"l40s", "NVIDIA L40S", "Nvidia", "Ada", 8, 8, 9,
     35'000, 350'000, 100'000, 350'000, 260'000, 50'000, 46'068, 600, 65'536, 2'520, 210, 9'001,
     142,
     92, 95, 0, 4, 32'000'000'000, 0, 0.13, 20, kAmpere | kPowerIsAverage, ""},
    {"t4", "Tesla T4", "Tesla", "Turing", 6, 7, 5,
     10'000, 70'000, 60'000, 70'000, 50'000, 10'000, 15'360, 449, 256, 1'590, 300, 5'001, 40,
     93, 96, 0, 3, 16'000'000'000, 0, 0.6, 20, kTuring, ""},
    {"v100-sxm2-32gb", "Tesla V100-SXM2-32GB", "Tesla", "Volta", 5, 7, 0,
     40'000, 300'000, 150'000, 300'000, 220'000, 40'000, 32'768, 268, 32'768, 1'530, 135, 877, 80,
     87, 90, 6, 3, 16'000'000'000, 150'000'000'000, 0.14, 20, kVolta | kHasMemoryTemperature, ""},
}};
// clang-format on

static_assert(std::is_sorted(kClasses.begin(), kClasses.end(),
                             [](const GpuClass& a, const GpuClass& b) { return a.name < b.name; }));

}  // namespace

std::span<const GpuClass> GpuClasses() { return kClasses; }

const GpuClass* FindGpuClass(std::string_view name) {
  const auto* const found = std::find_if(kClasses.begin(), kClasses.end(),
                                         [name](const GpuClass& row) { return row.name == name; });
  return found == kClasses.end() ? nullptr : found;
}

}  // namespace podgpu::sim
