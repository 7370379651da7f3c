// The readings of switches, their links, CPUs and cores, field by field.
//
// Units are DCGM's (dcgm_fields.h of 4.6.0): Mibit since the start, degrees Celsius, ratios, kHz,
// watts.
#include "sim/dcgm/part_readings.h"

#include <algorithm>
#include <array>

#include "abi/dcgm_links.h"
#include "sim/dcgm/fabric.h"
#include "sim/world/board_counts.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kBytesPerMibit = (1 << 20) / 8;

Reading Whole(int64_t value) { return {.value = value}; }
Reading Fraction(double value) { return {.value = value}; }
Reading None() { return {.value = Blank::kNotSupported}; }

// -- switches

GpuLink EndOf(const Query& query) {
  return AtPort(query.world, query.entity.part, query.entity.link);
}

// Bytes x 10^6 that the GPU's end of the link has moved; empty while the GPU is in MIG mode.
Int128 MovedBy(const Query& query, const GpuLink& end, Integral what) {
  const int links = std::max(query.world.gpu(end.gpu).nvlink_count, 1);
  return query.world.Integrate(what, {.gpu = end.gpu}, query.sample.t) / links;
}

int64_t Mibits(Int128 byte_us) {
  return static_cast<int64_t>(byte_us / kSecondUs / kBytesPerMibit);
}

// A switch sends what a GPU receives: the argument is the GPU's integral.
Reading PortTraffic(const Query& query) {
  const GpuLink end = EndOf(query);
  return end.gpu < 0 ? None()
                     : Whole(Mibits(MovedBy(query, end, static_cast<Integral>(query.argument))));
}

Reading SwitchTraffic(const Query& query) {
  Int128 moved = 0;
  for (int port = 0; port < PortCount(query.world); ++port) {
    const GpuLink end = AtPort(query.world, query.entity.part, port);
    moved += end.gpu < 0 ? 0 : MovedBy(query, end, static_cast<Integral>(query.argument));
  }
  return Whole(Mibits(moved));
}

// One degree more for each 20 GB/s of all GPUs' traffic over the last second.
Reading SwitchTemperature(const Query& query) {
  constexpr int64_t kIdleC = 36;
  constexpr int64_t kBytesPerDegree = INT64_C(20'000'000'000);
  const TimeUs from = std::max<TimeUs>(query.sample.t - kSecondUs, 0);
  Int128 moved = 0;
  for (int gpu = 0; gpu < query.world.gpu_count(); ++gpu) {
    moved +=
        query.world.IntegrateOver(Integral::kNvlinkTxBytes, {.gpu = gpu}, from, query.sample.t);
  }
  return Whole(kIdleC + static_cast<int64_t>(moved / kSecondUs / kBytesPerDegree));
}

// Errors of the GPU's link; the argument is the field that counts them on the GPU.
Reading PortErrors(const Query& query) {
  const GpuLink end = EndOf(query);
  return end.gpu < 0 ? None()
                     : Whole(LinkErrorCount(query.world, end.gpu, end.link,
                                            static_cast<uint16_t>(query.argument), query.sample.t));
}

Reading PortStatus(const Query& query) {
  const GpuLink end = EndOf(query);
  if (end.gpu < 0 || query.world.mig_enabled(end.gpu, query.sample.t)) {
    return Whole(abi::DcgmNvLinkLinkStateNotSupported);
  }
  const bool is_down = IsLinkDown(query.world, end.gpu, end.link, query.sample.t);
  return Whole(is_down ? abi::DcgmNvLinkLinkStateDown : abi::DcgmNvLinkLinkStateUp);
}

Reading RemoteLink(const Query& query) {
  const GpuLink end = EndOf(query);
  return end.gpu < 0 ? None() : Whole(end.link);
}

Reading RemoteUuid(const Query& query) {
  const GpuLink end = EndOf(query);
  return end.gpu < 0 ? None() : Reading{.value = std::string(query.world.gpu(end.gpu).uuid)};
}

Reading PartNumber(const Query& query) { return Whole(query.entity.part); }
Reading PortNumber(const Query& query) { return Whole(query.entity.link); }
Reading SwitchBus(const Query& query) {
  constexpr int64_t kFirstBus = 5;
  return Whole(kFirstBus + query.entity.part);
}
Reading Nought(const Query&) { return Whole(0); }

// -- CPUs

// The parts of a GPU's activity that one core spends on it, in 64ths, by field from 1101: user,
// nice, system, interrupts.
constexpr std::array<int, 4> kShares = {16, 0, 4, 1};
constexpr double kWholeShare = 64;

// The activity of the core's GPU, 0 to 1.
double GpuActivity(const World& world, int core, TimeUs from, TimeUs to) {
  if (world.gpu_count() == 0 || to <= from) {
    return 0;
  }
  const DeviceRef gpu{.gpu = core % world.gpu_count()};
  const Int128 active = world.IntegrateOver(Integral::kSmPpmUs, gpu, from, to);
  return static_cast<double>(active) / (static_cast<double>(to - from) * 1e6);
}

// The mean over the entity's cores: itself, or those of the CPU.
double MeanActivity(const Query& query, TimeUs from) {
  const World& world = query.world;
  if (query.entity.key.group == abi::DCGM_FE_CPU_CORE) {
    return GpuActivity(world, query.entity.part, from, query.sample.t);
  }
  const int first = FirstCore(world, query.entity.part);
  const int count = world.cpu_cores(query.entity.part);
  double sum = 0;
  for (int core = first; core < first + count; ++core) {
    sum += GpuActivity(world, core, from, query.sample.t);
  }
  return sum / count;
}

// The argument is the index of the part, or the number of parts for the total.
Reading Load(const Query& query) {
  if (!query.sample.previous) {
    return {.value = Blank::kNoValue};
  }
  int share = 0;
  for (size_t i = 0; i < kShares.size(); ++i) {
    const bool counts = query.argument < 0 || static_cast<size_t>(query.argument) == i;
    share += counts ? kShares[i] : 0;
  }
  return Fraction(MeanActivity(query, *query.sample.previous) * share / kWholeShare);
}

double LastSecond(const Query& query) {
  return MeanActivity(query, std::max<TimeUs>(query.sample.t - kSecondUs, 0));
}
Reading CpuTemperature(const Query& query) {
  constexpr double kIdleC = 40;
  constexpr double kRiseC = 20;
  return Fraction(kIdleC + kRiseC * LastSecond(query));
}
Reading CpuPower(const Query& query) {
  constexpr double kIdleW = 50;
  constexpr double kRiseW = 80;
  return Fraction(query.argument + kIdleW + kRiseW * LastSecond(query));
}
Reading Constant(const Query& query) { return Fraction(query.argument); }
Reading CoreClock(const Query&) {
  constexpr int64_t kGraceKhz = 3'402'000;
  return Whole(kGraceKhz);
}

constexpr int kSysioW = 20;
constexpr int kLimitW = 300;
constexpr int kWarningC = 90;
constexpr int kCriticalC = 105;

using enum FieldLevel;

constexpr auto kPartReadings = std::to_array<ReadingRow>({
    {780, 780, kLink, PortTraffic, ArgumentOf(Integral::kNvlinkRxBytes)},
    {781, 781, kLink, PortTraffic, ArgumentOf(Integral::kNvlinkTxBytes)},
    {782, 783, kLink, Nought, 0},
    {784, 784, kLink, PortErrors, 1527},
    {785, 785, kLink, PortErrors, 1528},
    {786, 786, kLink, PortErrors, 1525},
    {787, 787, kLink, PortErrors, 1525},
    {788, 788, kLink, Nought, 0},
    {858, 858, kSwitch, SwitchTemperature, 0},
    {859, 859, kSwitch, [](const Query&) { return Whole(kWarningC); }, 0},
    {860, 860, kSwitch, [](const Query&) { return Whole(kCriticalC); }, 0},
    {861, 861, kSwitch, SwitchTraffic, ArgumentOf(Integral::kNvlinkRxBytes)},
    {862, 862, kSwitch, SwitchTraffic, ArgumentOf(Integral::kNvlinkTxBytes)},
    {863, 863, kSwitch, PartNumber, 0},
    {864, 864, kSwitch, Nought, 0},
    {865, 865, kLink, PortNumber, 0},
    {866, 866, kSwitch, Nought, 0},
    {867, 867, kSwitch, SwitchBus, 0},
    {868, 869, kSwitch, Nought, 0},
    {870, 870, kLink, PortStatus, 0},
    {876, 876, kLink, RemoteLink, 0},
    {878, 878, kLink, RemoteUuid, 0},
    {1100, 1100, kCpuCore, Load, -1},
    {1101, 1104, kCpuCore, Load, 0},
    {1110, 1110, kCpu, CpuTemperature, 0},
    {1111, 1111, kCpu, Constant, kWarningC},
    {1112, 1112, kCpu, Constant, kCriticalC},
    {1120, 1120, kCpuCore, CoreClock, 0},
    {1130, 1130, kCpu, CpuPower, 0},
    {1131, 1131, kCpu, Constant, kLimitW},
    {1132, 1132, kCpu, Constant, kSysioW},
    {1133, 1133, kCpu, CpuPower, kSysioW},
    {1140, 1140, kCpu, [](const Query&) { return Reading{.value = std::string("NVIDIA")}; }, 0},
    {1141, 1141, kCpu, [](const Query&) { return Reading{.value = std::string("Grace")}; }, 0},
});

static_assert(std::ranges::is_sorted(kPartReadings, {}, &ReadingRow::first));

}  // namespace

const ReadingRow* FindPartReading(uint16_t field) {
  const auto found = std::ranges::lower_bound(kPartReadings, field, {}, &ReadingRow::last);
  return found != kPartReadings.end() && found->first <= field ? &*found : nullptr;
}

}  // namespace podgpu::sim
