#include "sim/scenario/compile_physics.h"

#include <algorithm>
#include <numeric>

#include "sim/world/arithmetic.h"

namespace podgpu::sim {

namespace {

constexpr uint32_t kReasonIdle = 0x1, kReasonPowerCap = 0x4;
// Indexed by ThrottleReason: software power, software thermal, hardware, power brake.
constexpr std::array<uint32_t, 4> kThrottleBits = {0x4, 0x20, 0x8, 0x80};
constexpr int64_t kClockStepMhz = 15;

// How a rate is shared, and how it adds up from a compute instance to the GPU.
enum class Kind : uint8_t {
  kCompute,  // Of the compute instance, by compute slices.
  kDram,     // Of the GPU instance, by memory slices.
  kMedia,    // Of the GPU instance, by compute slices.
  kPcie,     // Bytes of the GPU.
  kNvlink,
};
constexpr std::array<Kind, kDemandCount> kKinds = {
    Kind::kCompute,  // Unused.
    Kind::kCompute, Kind::kCompute, Kind::kCompute, Kind::kCompute, Kind::kCompute,
    Kind::kDram,    Kind::kMedia,   Kind::kMedia,   Kind::kMedia,   Kind::kMedia,
    Kind::kPcie,    Kind::kPcie,    Kind::kNvlink,  Kind::kNvlink};
constexpr auto kSm = static_cast<size_t>(Integral::kSmPpmUs);
constexpr auto kDram = static_cast<size_t>(Integral::kDramPpmUs);
constexpr auto kEnergy = static_cast<size_t>(Integral::kEnergyNj);
constexpr auto kPowerViolation = static_cast<size_t>(Integral::kPowerViolationNs);
constexpr auto kThermalViolation = static_cast<size_t>(Integral::kThermalViolationNs);

int64_t Scale(int64_t value, int64_t numerator, int64_t denominator) {
  return static_cast<int64_t>(static_cast<Int128>(value) * numerator / denominator);
}

// A resident process with the rates granted so far.
struct Share {
  const Resident* resident;
  std::array<int64_t, kDemandCount> rates;
  int compute_scope, instance_scope;  // Processes with equal numbers contend.
  int slices, instance_slices, memory_slices;
};

Share ShareOf(const Layout& layout, const Resident& resident) {
  const Slot& slot = *resident.slot;
  Share share{&resident,
              resident.phase->demand.rates,
              0,
              0,
              kComputeSlicesPerChip,
              kComputeSlicesPerChip,
              kMemorySlicesPerChip};
  const int64_t sm = share.rates[kSm];
  if (sm > slot.threads_ppm) {  // The active thread percentage limits all rates.
    for (int64_t& rate : share.rates) {
      rate = Scale(rate, slot.threads_ppm, sm);
    }
  }
  if (slot.device.instance >= 0) {
    const GpuInstance& instance = layout.instances.at(static_cast<size_t>(slot.device.instance));
    share.instance_scope = 1 + slot.device.instance;
    share.compute_scope = share.instance_scope * (kComputeSlicesPerChip + 1) + slot.device.compute;
    share.slices = instance.computes.at(static_cast<size_t>(slot.device.compute)).slices;
    share.instance_slices = instance.profile->compute_slices;
    share.memory_slices = instance.profile->memory_slices;
  }
  return share;
}

// The sums of a rate by contention scope.
constexpr size_t kScopeCount = size_t{kComputeSlicesPerChip + 1} * (kComputeSlicesPerChip + 1);
template <typename Scope>
std::array<int64_t, kScopeCount> SumByScope(const std::vector<Share>& shares, size_t rate,
                                            Scope scope) {
  std::array<int64_t, kScopeCount> sums{};
  for (const Share& share : shares) {
    sums.at(static_cast<size_t>(scope(share))) += share.rates.at(rate);
  }
  return sums;
}

// Compute: SM time over the capacity of a scope slows all rates of its processes in proportion.
void ContendForSms(std::vector<Share>& shares) {
  const auto scope = [](const Share& share) { return share.compute_scope; };
  const auto sums = SumByScope(shares, kSm, scope);
  for (Share& share : shares) {
    const int64_t sum = sums.at(static_cast<size_t>(scope(share)));
    if (sum > kWholePpm) {
      for (int64_t& rate : share.rates) {
        rate = Scale(rate, kWholePpm, sum);
      }
    }
  }
}

int64_t CapacityOf(const GpuClass& figures, Kind kind) {
  switch (kind) {
    case Kind::kPcie:
      return figures.pcie_bytes_per_s;
    case Kind::kNvlink:
      return figures.nvlink_bytes_per_s;
    default:
      return kWholePpm;
  }
}

int ScopeOf(const Share& share, Kind kind) {
  switch (kind) {
    case Kind::kCompute:
      return share.compute_scope;
    case Kind::kDram:
    case Kind::kMedia:
      return share.instance_scope;
    default:
      return 0;
  }
}

// All other rates: demand over the capacity slows only that rate.
void ContendForRest(const GpuClass& figures, std::vector<Share>& shares) {
  for (size_t rate = kSm + 1; rate < kDemandCount; ++rate) {
    const Kind kind = kKinds.at(rate);
    const auto scope = [kind](const Share& share) { return ScopeOf(share, kind); };
    const int64_t capacity = CapacityOf(figures, kind);
    const auto sums = SumByScope(shares, rate, scope);
    for (Share& share : shares) {
      const int64_t sum = sums.at(static_cast<size_t>(scope(share)));
      if (sum > capacity) {
        share.rates.at(rate) = Scale(share.rates.at(rate), capacity, sum);
      }
    }
  }
}

// A rate as a part of the GPU instance, and of the GPU.
int64_t OfInstance(const Share& share, size_t rate) {
  const int64_t value = share.rates.at(rate);
  return kKinds.at(rate) == Kind::kCompute ? value * share.slices / share.instance_slices : value;
}

int64_t OfGpu(const Share& share, size_t rate) {
  const int64_t value = share.rates.at(rate);
  switch (kKinds.at(rate)) {
    case Kind::kCompute:
      return value * share.slices / kComputeSlicesPerChip;
    case Kind::kMedia:
      return value * share.instance_slices / kComputeSlicesPerChip;
    case Kind::kDram:
      return value * share.memory_slices / kMemorySlicesPerChip;
    default:
      return value;
  }
}

void AddToEntities(const Layout& layout, const Share& share, SegmentSolution& solution) {
  const ResolvedDevice& device = share.resident->slot->device;
  const bool inside = device.instance >= 0;
  auto& whole = solution.entities.front();
  auto& instance = solution.entities.at(EntityNumber(layout, device.instance, -1));
  auto& compute = solution.entities.at(EntityNumber(layout, device.instance, device.compute));
  for (size_t rate = kSm; rate < kDemandCount; ++rate) {
    whole.at(rate) += inside ? OfGpu(share, rate) : share.rates.at(rate);
    if (inside) {
      instance.at(rate) += OfInstance(share, rate);
      compute.at(rate) += share.rates.at(rate);
    }
  }
  const int64_t memory = share.resident->phase->memory_bytes;
  whole.at(kMemoryChannel) += memory;
  if (inside) {
    instance.at(kMemoryChannel) += memory;
    compute.at(kMemoryChannel) += memory;
  }
}

// Throttling by a fault: clocks fall to the given part, power with the cube of it.
void Throttle(const GpuChange& change, std::vector<int64_t>& drawn, SegmentSolution& solution) {
  if (change.clock_ppm >= kWholePpm) {
    return;
  }
  const Int128 cube = static_cast<Int128>(change.clock_ppm) * change.clock_ppm * change.clock_ppm;
  const Int128 whole = static_cast<Int128>(kWholePpm) * kWholePpm * kWholePpm;
  for (int64_t& power_mw : drawn) {
    power_mw = static_cast<int64_t>(power_mw * cube / whole);
  }
  solution.clock_event_reasons |= kThrottleBits.at(static_cast<size_t>(change.why));
  auto& entity = solution.entities.front();
  const int64_t lost_ppm = kWholePpm - change.clock_ppm;
  entity[kPowerViolation] = change.why == ThrottleReason::kPower ? lost_ppm : 0;
  entity[kThermalViolation] = change.why == ThrottleReason::kThermal ? lost_ppm : 0;
}

// The power limit on the remaining power; returns the part of the clock that stays.  Dynamic power
// falls with the cube of the clock, so the clock falls with the cube root of the power.
int64_t Cap(const GpuClass& figures, int64_t limit_mw, std::vector<int64_t>& drawn,
            SegmentSolution& solution) {
  const int64_t sum = std::accumulate(drawn.begin(), drawn.end(), int64_t{0});
  const int64_t budget = limit_mw - figures.idle_mw;
  if (sum <= budget || sum == 0) {
    return kWholePpm;
  }
  const int64_t scale_ppm = budget * kWholePpm / sum;
  const auto cubed = static_cast<uint64_t>(scale_ppm) * kWholePpm * kWholePpm;
  const auto clock_ppm = static_cast<int64_t>(CubeRoot(cubed));
  solution.clock_event_reasons |= kReasonPowerCap;
  int64_t& violation_ppm = solution.entities.front()[kPowerViolation];
  violation_ppm = kWholePpm - (kWholePpm - violation_ppm) * clock_ppm / kWholePpm;
  for (int64_t& power_mw : drawn) {
    power_mw = power_mw * budget / sum;
  }
  return clock_ppm;
}

// Dynamic power of each process, throttled and limited; then clocks and their reasons.
void SolvePower(const GpuClass& figures, const GpuChange& change, std::span<const Share> shares,
                SegmentSolution& solution) {
  std::vector<int64_t> drawn;
  for (const Share& share : shares) {
    const bool inside = share.resident->slot->device.instance >= 0;
    const int64_t sm = inside ? OfGpu(share, kSm) : share.rates[kSm];
    const int64_t dram = inside ? OfGpu(share, kDram) : share.rates[kDram];
    const Slot& slot = *share.resident->slot;
    drawn.push_back((slot.k_mw * sm + slot.m_mw * dram) / kWholePpm);
  }
  Throttle(change, drawn, solution);
  const int64_t clock_ppm =
      Cap(figures, change.limit_mw, drawn, solution) * change.clock_ppm / kWholePpm;
  auto& whole = solution.entities.front();
  for (size_t i = 0; i < drawn.size(); ++i) {
    solution.processes.at(i).at(static_cast<size_t>(ProcessChannel::kEnergy)) = drawn[i];
    whole[kEnergy] += drawn[i];
  }
  solution.power_mw = figures.idle_mw + whole[kEnergy];
  const bool busy = whole[kSm] > 0;
  const int64_t top = figures.max_sm_clock_mhz * clock_ppm / kWholePpm;
  solution.sm_clock_mhz = busy
                              ? static_cast<int32_t>(std::max<int64_t>(
                                    top / kClockStepMhz * kClockStepMhz, figures.idle_sm_clock_mhz))
                              : figures.idle_sm_clock_mhz;
  solution.clock_event_reasons |= busy ? 0 : kReasonIdle;
}

}  // namespace

size_t EntityNumber(const Layout& layout, int instance, int compute) {
  if (instance < 0) {
    return 0;
  }
  size_t number = 1;
  for (int i = 0; i < instance; ++i) {
    number += 1 + layout.instances.at(static_cast<size_t>(i)).computes.size();
  }
  return number + static_cast<size_t>(compute + 1);
}

size_t EntityCount(const Layout& layout) {
  return EntityNumber(layout, static_cast<int>(layout.instances.size()), -1);
}

SegmentSolution SolveSegment(const GpuClass& figures, const Layout& layout, const GpuChange& change,
                             std::span<const Resident> residents) {
  SegmentSolution solution;
  solution.entities.resize(EntityCount(layout));
  solution.processes.resize(residents.size());
  std::vector<Share> shares;
  for (const Resident& resident : residents) {
    shares.push_back(ShareOf(layout, resident));
  }
  ContendForSms(shares);
  ContendForRest(figures, shares);
  for (size_t i = 0; i < shares.size(); ++i) {
    AddToEntities(layout, shares[i], solution);
    const auto& rates = shares[i].rates;
    solution.processes[i] = {0,
                             rates[kSm],
                             rates[kDram],
                             rates[static_cast<size_t>(Integral::kEncoderPpmUs)],
                             rates[static_cast<size_t>(Integral::kDecoderPpmUs)],
                             rates[static_cast<size_t>(Integral::kJpegPpmUs)],
                             rates[static_cast<size_t>(Integral::kOfaPpmUs)],
                             residents[i].phase->memory_bytes};
  }
  SolvePower(figures, change, shares, solution);
  return solution;
}

}  // namespace podgpu::sim
