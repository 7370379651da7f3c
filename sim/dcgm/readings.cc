// tidy: table
// The table of readings, field by field.
//
// A field of the catalogue without a row here is one that no simulated class has or that the world
// does not model; it reads "not supported".  Units are DCGM's (dcgm_fields.h of 4.6.0): MiB, MHz,
// degrees Celsius, watts, millijoules, nanoseconds, bytes a second.
#include <algorithm>
#include <array>

#include "sim/dcgm/fields.h"
#include "sim/dcgm/values.h"
#include "sim/world/board_counts.h"
#include "sim/world/board_readings.h"

namespace podgpu::sim {
namespace {

constexpr int kAllLinks = 1000;  // In place of a link's index.
constexpr int kMigSlices = 7;
constexpr int kBlackwell = 10;  // The first architecture whose NVLink (version 5) counts bytes.

Reading Number(int64_t value) { return {.value = value}; }
Reading Real(double value) { return {.value = value}; }
Reading Refuse() { return {.value = Blank::kNotSupported}; }
Reading NumberIf(bool has, int64_t value) { return has ? Number(value) : Refuse(); }
template <typename Optional>
Reading NumberOf(const Optional& value) {
  return value ? Number(*value) : Refuse();
}
Reading Text(std::string_view text) {
  return text.empty() ? Refuse() : Reading{.value = std::string(text)};
}
Reading WholeWatts(int64_t milliwatts) {
  const int64_t watts = milliwatts / 1000;  // Limits are rounded down to whole watts.
  return Real(static_cast<double>(watts));
}
Reading ExactWatts(int64_t milliwatts) { return Real(static_cast<double>(milliwatts) / 1000.0); }

// -- identity

Reading Name(const Query& query) {
  const DeviceRef& device = query.entity.device;
  if (device.compute >= 0) {
    return Text(
        query.world.compute(device.gpu, device.instance, device.compute, query.sample.t).profile);
  }
  if (device.instance >= 0) {
    return Text(query.world.instance(device.gpu, device.instance, query.sample.t).profile);
  }
  return Text(query.gpu().model);
}

Reading Uuid(const Query& query) {
  const DeviceRef& device = query.entity.device;
  if (device.compute >= 0) {
    return Text(
        query.world.compute(device.gpu, device.instance, device.compute, query.sample.t).mig_uuid);
  }
  return Text(query.gpu().uuid);
}

Reading VisibleDevice(const Query& query) {
  const DeviceRef& device = query.entity.device;
  return device.instance >= 0 && device.compute < 0 ? Refuse() : Uuid(query);
}

Reading ComputeCapability(const Query& query) {
  return Number(int64_t{query.gpu().compute_major} * 65536 + query.gpu().compute_minor);
}

// -- memory

struct Memory {
  int64_t total, reserved, used;
};

// The memory of the GPU, or of the GPU instance that the entity is or belongs to.
Memory MemoryOf(const Query& query) {
  DeviceRef device = query.entity.device;
  device.compute = -1;
  const int64_t used = query.world.MemoryUsedBytes(device, query.sample.t);
  if (device.instance >= 0) {
    const GpuInstanceFacts facts =
        query.world.instance(device.gpu, device.instance, query.sample.t);
    return {
        .total = facts.memory_total_bytes, .reserved = facts.memory_reserved_bytes, .used = used};
  }
  return {.total = query.gpu().memory_total_bytes,
          .reserved = query.gpu().memory_reserved_bytes,
          .used = used};
}

Reading MemoryTotal(const Query& query) { return Number(MemoryOf(query).total / kMib); }
Reading MemoryUsed(const Query& query) { return Number(MemoryOf(query).used / kMib); }
Reading MemoryReserved(const Query& query) { return Number(MemoryOf(query).reserved / kMib); }
Reading MemoryFree(const Query& query) {
  const Memory memory = MemoryOf(query);
  return Number((memory.total - memory.reserved - memory.used) / kMib);
}
Reading MemoryUsedRatio(const Query& query) {
  const Memory memory = MemoryOf(query);
  return Real(static_cast<double>(memory.used) /
              static_cast<double>(memory.total - memory.reserved));
}
Reading Bar1Total(const Query& query) { return Number(query.gpu().bar1_total_bytes / kMib); }
Reading Bar1Used(const Query&) { return Number(Bar1UsedBytes() / kMib); }
Reading Bar1Free(const Query& query) {
  return Number((query.gpu().bar1_total_bytes - Bar1UsedBytes()) / kMib);
}

// -- sensors

Reading Energy(const Query& query) {
  const int gpu = query.entity.device.gpu;
  Reading reading = Number(query.world.EnergyCounterMj(gpu, query.sample.t));
  // The driver stamps this value with the time of the counter's refresh.
  reading.sampled_at = query.world.EnergyCounterTime(gpu, query.sample.t);
  return reading;
}

Reading Power(const Query& query) {
  const int gpu = query.entity.device.gpu;
  return ExactWatts(query.gpu().power_is_average ? query.world.PowerAverageMw(gpu, query.sample.t)
                                                 : query.world.PowerInstantMw(gpu, query.sample.t));
}
Reading PowerInstant(const Query& query) {
  return ExactWatts(query.world.PowerInstantMw(query.entity.device.gpu, query.sample.t));
}
Reading PowerLimit(const Query& query) {
  return WholeWatts(query.world.PowerLimitMw(query.entity.device.gpu, query.sample.t));
}

Reading Temperature(const Query& query) {
  return Number(query.world.TemperatureC(query.entity.device.gpu, query.sample.t));
}
Reading MemoryTemperature(const Query& query) {
  return NumberIf(query.gpu().has_memory_temperature,
                  query.world.MemoryTemperatureC(query.entity.device.gpu, query.sample.t));
}
Reading SmClock(const Query& query) {
  return Number(query.world.SmClockMhz(query.entity.device.gpu, query.sample.t));
}
Reading MemoryClock(const Query& query) {
  return Number(query.world.MemoryClockMhz(query.entity.device.gpu, query.sample.t));
}
Reading MaxSmClock(const Query& query) { return Number(query.gpu().max_sm_clock_mhz); }
Reading MaxMemoryClock(const Query& query) { return Number(query.gpu().max_memory_clock_mhz); }
Reading ClockEventReasons(const Query& query) {
  return Number(
      static_cast<int64_t>(query.world.ClockEventReasons(query.entity.device.gpu, query.sample.t)));
}

Reading VideoClock(const Query& query) {
  return Number(VideoClockMhz(query.world, query.entity.device.gpu, query.sample.t));
}
Reading Margin(const Query& query) {
  return NumberOf(MarginTemperatureC(query.world, query.entity.device.gpu, query.sample.t));
}
Reading Fan(const Query& query) {
  return NumberOf(FanPercent(query.world, query.entity.device.gpu, query.sample.t));
}
// The argument is NVML's number of the part.
Reading Inforom(const Query& query) { return Text(InforomVersion(query.gpu(), query.argument)); }

// Percent of the driver's last sample period; a GPU in MIG mode and its instances have none.
Reading Utilization(const Query& query) {
  if (query.mig()) {
    return Refuse();
  }
  return Number(query.world.UtilizationPercent(static_cast<Integral>(query.argument),
                                               query.entity.device, query.sample.t));
}

// -- integrals

// Nanoseconds, or bytes x 10^6, of the whole GPU since the epoch.
Reading Violation(const Query& query) {
  const DeviceRef gpu{.gpu = query.entity.device.gpu};
  return Number(static_cast<int64_t>(
      query.world.Integrate(static_cast<Integral>(query.argument), gpu, query.sample.t)));
}
Reading BytesTotal(const Query& query) {
  const DeviceRef gpu{.gpu = query.entity.device.gpu};
  return Number(static_cast<int64_t>(
      query.world.Integrate(static_cast<Integral>(query.argument), gpu, query.sample.t) /
      kSecondUs));
}

// The busy share of the time between two samples: exactly the percentage of GPM.
Reading Activity(const Query& query) {
  if (!query.sample.previous) {
    return {.value = Blank::kNoValue};
  }
  const auto integral = static_cast<Integral>(query.argument);
  const Int128 active = query.world.IntegrateOver(integral, query.entity.device,
                                                  *query.sample.previous, query.sample.t);
  const auto elapsed_us = static_cast<double>(query.sample.t - *query.sample.previous);
  const double percent = static_cast<double>(active) * 100 / (elapsed_us * 1e6);
  return Real(percent / 100);
}
Reading JpegOrOfaActivity(const Query& query) {
  return query.gpu().has_jpeg_ofa ? Activity(query) : Refuse();
}

// Bytes a second between two samples, of the whole GPU divided by `share`.
Reading ByteRate(const Query& query, Integral integral, int share) {
  if (!query.sample.previous) {
    return {.value = Blank::kNoValue};
  }
  const DeviceRef gpu{.gpu = query.entity.device.gpu};
  const Int128 moved =
      query.world.IntegrateOver(integral, gpu, *query.sample.previous, query.sample.t);
  const Int128 elapsed_us = query.sample.t - *query.sample.previous;
  return Number(static_cast<int64_t>(moved / (elapsed_us * std::max(share, 1))));
}
Reading PcieRate(const Query& query) {
  return ByteRate(query, static_cast<Integral>(query.argument), 1);
}

// -- links

// Working NVLinks; a GPU in MIG mode has none.
int LinkCount(const Query& query) { return query.mig() ? 0 : query.gpu().nvlink_count; }

// Whether link `index`, or with kAllLinks any link, works.
bool HasLink(const Query& query, int index) {
  const int count = LinkCount(query);
  return index == kAllLinks ? count > 0 : index < count;
}

Reading LinkErrorsOf(const Query& query, int link) {
  if (!HasLink(query, link)) {
    return Refuse();
  }
  return Number(LinkErrorCount(query.world, query.entity.device.gpu, link == kAllLinks ? -1 : link,
                               query.field, query.sample.t));
}
Reading LinkErrors(const Query& query) { return LinkErrorsOf(query, query.argument); }
Reading OwnLinkErrors(const Query& query) { return LinkErrorsOf(query, query.entity.link); }
// Whether links have errors that the driver reports as an event: here none has.
Reading NoLinkEvent(const Query& query) { return NumberIf(HasLink(query, kAllLinks), 0); }

// The NVLink rate as DCGM derives it from the driver's two KiB counters: KiB a second, divided by
// 1,000.
Reading LinkThroughput(const Query& query, int index, bool sends, bool receives) {
  if (!HasLink(query, index)) {
    return Refuse();
  }
  if (!query.sample.previous) {
    return Number(0);
  }
  const int share = index == kAllLinks ? 1 : std::max(LinkCount(query), 1);
  const int gpu = query.entity.device.gpu;
  const auto kib_at = [&](TimeUs t) {
    const int64_t sent = sends ? LinkKib(query.world, gpu, Integral::kNvlinkTxBytes, share, t) : 0;
    const int64_t received =
        receives ? LinkKib(query.world, gpu, Integral::kNvlinkRxBytes, share, t) : 0;
    return sent + received;
  };
  const Int128 kib = kib_at(query.sample.t) - kib_at(*query.sample.previous);
  const Int128 elapsed_us = query.sample.t - *query.sample.previous;
  return Number(static_cast<int64_t>(kib * kSecondUs / elapsed_us / 1000));
}
Reading Throughput(const Query& query) { return LinkThroughput(query, query.argument, true, true); }
Reading ThroughputTx(const Query& query) {
  return LinkThroughput(query, query.argument, true, false);
}
Reading ThroughputRx(const Query& query) {
  return LinkThroughput(query, query.argument, false, true);
}
Reading OwnThroughput(const Query& query) {
  return LinkThroughput(query, query.entity.link, true, true);
}
Reading OwnThroughputTx(const Query& query) {
  return LinkThroughput(query, query.entity.link, true, false);
}
Reading OwnThroughputRx(const Query& query) {
  return LinkThroughput(query, query.entity.link, false, true);
}

Reading NvlinkRate(const Query& query) {
  return HasLink(query, kAllLinks) ? ByteRate(query, static_cast<Integral>(query.argument), 1)
                                   : Refuse();
}
// Fields alternate: bytes sent by link 0, received by link 0, sent by link 1, ...
Reading NvlinkRateOfLink(const Query& query) {
  if (!HasLink(query, query.argument / 2)) {
    return Refuse();
  }
  return ByteRate(query,
                  query.argument % 2 == 0 ? Integral::kNvlinkTxBytes : Integral::kNvlinkRxBytes,
                  LinkCount(query));
}
Reading OwnNvlinkRate(const Query& query) {
  return HasLink(query, query.entity.link)
             ? ByteRate(query, static_cast<Integral>(query.argument), LinkCount(query))
             : Refuse();
}
Reading NvlinkBytes(const Query& query) {
  return HasLink(query, kAllLinks) && query.gpu().architecture_number >= kBlackwell
             ? BytesTotal(query)
             : Refuse();
}

// -- features whose counts stay 0 while nothing breaks

Reading PcieReplay(const Query& query) {
  return Number(PcieReplays(query.world, query.entity.device.gpu, query.sample.t));
}
Reading PcieGeneration(const Query& query) {
  return Number(PcieNow(query.world, query.entity.device.gpu, FaultNumber::kGeneration,
                        query.gpu().pcie_generation, query.sample.t));
}
Reading PcieWidth(const Query& query) {
  return Number(PcieNow(query.world, query.entity.device.gpu, FaultNumber::kWidth,
                        query.gpu().pcie_width, query.sample.t));
}

Reading Zero(const Query&) { return Number(0); }
Reading EccOn(const Query& query) { return NumberIf(query.gpu().has_ecc, 1); }
Reading EccErrors(const Query& query) {
  return NumberIf(query.gpu().has_ecc,
                  EccCount(query.world, query.entity.device.gpu, query.field, query.sample.t));
}
// After a double-bit error older boards retire a page and newer ones remap a row; both do so when
// the driver is loaded the next time.  `done` and `pending` are the arguments of the fields that
// count these; the other fields count events that never happen here.
int64_t Repairs(const Query& query, int done, int pending) {
  const int gpu = query.entity.device.gpu;
  if (query.argument == done) {
    return DoubleBitErrors(query.world, gpu, query.sample.t);
  }
  const bool is_pending =
      query.argument == pending && DoubleBitErrorsOfDriver(query.world, gpu, query.sample.t) > 0;
  return is_pending ? 1 : 0;
}
Reading RetiredPages(const Query& query) {
  return NumberIf(query.gpu().has_retired_pages, Repairs(query, 1, 2));
}
Reading RemappedRows(const Query& query) {
  return NumberIf(query.gpu().has_row_remapping && !query.mig(), Repairs(query, 0, 3));
}

// The argument counts from the banks with all spare rows to those with none.
Reading BanksWithSpareRows(const Query& query) {
  const auto spare = SpareRowsOf(query.world, query.entity.device.gpu, query.sample.t);
  if (!spare) {
    return Refuse();
  }
  const std::array<int64_t, 5> banks = {spare->max, spare->high, spare->partial, spare->low,
                                        spare->none};
  return Number(banks.at(static_cast<size_t>(query.argument)));
}
Reading Recovery(const Query& query) {
  return Number(RecoveryAction(query.world, query.entity.device.gpu, query.sample.t));
}

// -- base units, since 4.6.1 and 4.7.0

Reading MemoryTotalBytes(const Query& query) { return Number(MemoryOf(query).total); }
Reading MemoryUsedBytes(const Query& query) { return Number(MemoryOf(query).used); }
Reading MemoryReservedBytes(const Query& query) { return Number(MemoryOf(query).reserved); }
Reading MemoryFreeBytes(const Query& query) {
  const Memory memory = MemoryOf(query);
  return Number(memory.total - memory.reserved - memory.used);
}
Reading Bar1TotalBytes(const Query& query) { return Number(query.gpu().bar1_total_bytes); }
Reading Bar1UsedBytesNow(const Query&) { return Number(Bar1UsedBytes()); }
Reading Bar1FreeBytes(const Query& query) {
  return Number(query.gpu().bar1_total_bytes - Bar1UsedBytes());
}

// The reading of the old field, multiplied; an integer is rounded down.
Reading OfOldField(const Query& query, uint16_t old_field, double factor) {
  const ReadingRow* const row = FindReading(old_field);
  if (row == nullptr) {
    return Refuse();
  }
  Query old = query;
  old.field = old_field;
  old.argument = row->argument + (old_field - row->first);
  Reading reading = row->read(old);
  if (const int64_t* const number = std::get_if<int64_t>(&reading.value)) {
    const double scaled = static_cast<double>(*number) * factor;
    reading.value = FindField(query.field)->type == FieldType::kDouble
                        ? Reading{.value = scaled}.value
                        : Reading{.value = static_cast<int64_t>(scaled)}.value;
  }
  return reading;
}

// The argument is the first old field: the fields of a row are in the same order.
Reading Hertz(const Query& query) {
  return OfOldField(query, static_cast<uint16_t>(query.argument), 1e6);
}
Reading Joules(const Query& query) {
  return OfOldField(query, static_cast<uint16_t>(query.argument), 1e-3);
}
Reading OfPercent(const Query& query) {
  return OfOldField(query, static_cast<uint16_t>(query.argument), 1e-2);
}
Reading Seconds(const Query& query) {
  return OfOldField(query, static_cast<uint16_t>(query.argument), 1e-9);
}
Reading NvlinkBytesPerSecond(const Query& query) {
  return OfOldField(query, static_cast<uint16_t>(query.argument), 1'024'000);
}

using enum FieldLevel;

constexpr auto kReadings = std::to_array<ReadingRow>({
    {1, 1, kGlobal, [](const Query& q) { return Text(q.world.driver_version()); }, 0},
    {2, 2, kGlobal, [](const Query& q) { return Text(q.world.nvml_version()); }, 0},
    {4, 4, kGlobal, [](const Query& q) { return Number(q.gpus.count()); }, 0},
    {5, 5, kGlobal, [](const Query& q) { return Number(q.world.cuda_version()); }, 0},
    {50, 50, kGpu, Name, 0},
    {51, 51, kGpu, [](const Query& q) { return Text(q.gpu().brand); }, 0},
    {52, 52, kGpu, [](const Query& q) { return Number(q.gpus.IdOf(q.entity.device.gpu)); }, 0},
    {53, 53, kGpu, [](const Query& q) { return Text(q.gpu().serial); }, 0},
    {54, 54, kGpu, Uuid, 0},
    {55, 55, kGpu, [](const Query& q) { return Number(q.gpu().minor_number); }, 0},
    {56, 56, kGpu, Inforom, 0},
    {57, 57, kGpu, [](const Query& q) { return Text(q.gpu().pci_bus_id); }, 0},
    {63, 63, kGpu, ComputeCapability, 0},
    {65, 65, kGpu, Zero, 0},                                    // Default compute mode.
    {66, 66, kGpu, [](const Query&) { return Number(1); }, 0},  // Persistence mode is on.
    {67, 67, kGpu, [](const Query& q) { return Number(q.mig() ? 1 : 0); }, 0},
    {68, 68, kGpu, VisibleDevice, 0},
    {69, 69, kGpu, [](const Query& q) { return NumberIf(q.gpu().mig_capable, kMigSlices); }, 0},
    {70, 73, kGpu, [](const Query& q) { return Number(q.argument == 0 ? kNearCores : 0); }, 0},
    {74, 74, kGpu, Zero, 0},  // Confidential computing is off.
    {80, 81, kGpu, Inforom, 1},
    {82, 82, kGpu, [](const Query& q) { return Text(q.gpu().inforom_image); }, 0},
    {85, 85, kGpu, [](const Query& q) { return Text(q.gpu().vbios); }, 0},
    {86, 89, kGpu, [](const Query& q) { return Number(q.argument == 0 ? 1 : 0); }, 0},
    {90, 90, kGpu, Bar1Total, 0},
    {92, 92, kGpu, Bar1Used, 0},
    {93, 93, kGpu, Bar1Free, 0},
    {94, 94, kGpu, [](const Query& q) { return Number(q.gpu().has_gpm ? 1 : 0); }, 0},
    {100, 100, kGpu, SmClock, 0},
    {101, 101, kGpu, MemoryClock, 0},
    {102, 102, kGpu, VideoClock, 0},
    {110, 110, kGpu, MaxSmClock, 0},
    {111, 111, kGpu, MaxMemoryClock, 0},
    {112, 112, kGpu, ClockEventReasons, 0},
    {113, 113, kGpu, MaxSmClock, 0},
    {114, 114, kGpu, MaxMemoryClock, 0},
    {115, 115, kGpu, [](const Query& q) { return Number(MaxVideoClockMhz(q.gpu())); }, 0},
    {140, 140, kGpu, MemoryTemperature, 0},
    {150, 150, kGpu, Temperature, 0},
    {151, 151, kGpu, [](const Query& q) { return NumberOf(MemoryMaxTemperatureC(q.gpu())); }, 0},
    {152, 152, kGpu, [](const Query& q) { return Number(GpuMaxTemperatureC(q.gpu())); }, 0},
    {153, 153, kGpu, Margin, 0},
    {155, 155, kGpu, Power, 0},
    {156, 156, kGpu, Energy, 0},
    {157, 157, kGpu, PowerInstant, 0},
    {158, 158, kGpu, [](const Query& q) { return Number(q.gpu().slowdown_temperature_c); }, 0},
    {159, 159, kGpu, [](const Query& q) { return Number(q.gpu().shutdown_temperature_c); }, 0},
    {160, 160, kGpu, PowerLimit, 0},
    {161, 161, kGpu, [](const Query& q) { return WholeWatts(q.gpu().min_limit_mw); }, 0},
    {162, 162, kGpu, [](const Query& q) { return WholeWatts(q.gpu().max_limit_mw); }, 0},
    {163, 163, kGpu, [](const Query& q) { return WholeWatts(q.gpu().default_limit_mw); }, 0},
    {164, 164, kGpu, PowerLimit, 0},
    {190, 190, kGpu, Zero, 0},  // Simulated boards stay in P0.
    {191, 191, kGpu, Fan, 0},
    {202, 202, kGpu, PcieReplay, 0},
    {203, 203, kGpu, Utilization, ArgumentOf(Integral::kSmPpmUs)},
    {204, 204, kGpu, Utilization, ArgumentOf(Integral::kDramPpmUs)},
    {206, 206, kGpu, Utilization, ArgumentOf(Integral::kEncoderPpmUs)},
    {207, 207, kGpu, Utilization, ArgumentOf(Integral::kDecoderPpmUs)},
    {235, 235, kGpu, [](const Query& q) { return Number(q.gpu().pcie_generation); }, 0},
    {236, 236, kGpu, [](const Query& q) { return Number(q.gpu().pcie_width); }, 0},
    {237, 237, kGpu, PcieGeneration, 0},
    {238, 238, kGpu, PcieWidth, 0},
    {240, 240, kGpu, Violation, ArgumentOf(Integral::kPowerViolationNs)},
    {241, 241, kGpu, Violation, ArgumentOf(Integral::kThermalViolationNs)},
    {242, 247, kGpu, Zero, 0},
    {250, 250, kGpu, MemoryTotal, 0},
    {251, 251, kGpu, MemoryFree, 0},
    {252, 252, kGpu, MemoryUsed, 0},
    {253, 253, kGpu, MemoryReserved, 0},
    {254, 254, kGpu, MemoryUsedRatio, 0},
    {300, 301, kGpu, EccOn, 0},
    {310, 346, kGpu, EccErrors, 0},
    {385, 389, kGpu, BanksWithSpareRows, 0},
    {390, 392, kGpu, RetiredPages, 0},
    {393, 396, kGpu, RemappedRows, 0},
    {400, 405, kGpu, LinkErrors, 0},
    {406, 408, kGpu, LinkErrors, 12},
    {409, 409, kGpu, LinkErrors, kAllLinks},
    {410, 415, kGpu, LinkErrors, 0},
    {416, 418, kGpu, LinkErrors, 12},
    {419, 419, kGpu, LinkErrors, kAllLinks},
    {420, 425, kGpu, LinkErrors, 0},
    {426, 428, kGpu, LinkErrors, 12},
    {429, 429, kGpu, LinkErrors, kAllLinks},
    {430, 435, kGpu, LinkErrors, 0},
    {436, 438, kGpu, LinkErrors, 12},
    {439, 439, kGpu, LinkErrors, kAllLinks},
    {440, 445, kGpu, Throughput, 0},
    {446, 448, kGpu, Throughput, 12},
    {449, 449, kGpu, Throughput, kAllLinks},
    {450, 450, kGpu, NoLinkEvent, 0},
    {451, 456, kGpu, LinkErrors, 6},
    {457, 462, kGpu, LinkErrors, 6},
    {463, 468, kGpu, LinkErrors, 6},
    {469, 474, kGpu, LinkErrors, 6},
    {475, 480, kGpu, Throughput, 6},
    {481, 483, kGpu, LinkErrors, 15},
    {484, 486, kGpu, LinkErrors, 15},
    {487, 489, kGpu, LinkErrors, 15},
    {491, 493, kGpu, LinkErrors, 15},
    {494, 496, kGpu, Throughput, 15},
    {497, 497, kGpu, LinkErrors, kAllLinks},
    {498, 498, kGpu, LinkErrors, kAllLinks},
    {499, 499, kGpu, LinkErrors, kAllLinks},
    {500, 500, kGpu, Zero, 0},   // Not virtualised.
    {526, 526, kVgpu, Zero, 0},  // No vGPU licence; for GPUs DCGM reports 0.
    {825, 842, kGpu, ThroughputTx, 0},
    {843, 843, kGpu, ThroughputTx, kAllLinks},
    {879, 896, kGpu, ThroughputRx, 0},
    {897, 897, kGpu, ThroughputRx, kAllLinks},
    {1001, 1001, kGpu, Activity, ArgumentOf(Integral::kSmPpmUs)},
    {1002, 1002, kGpu, Activity, ArgumentOf(Integral::kSmPpmUs)},
    {1003, 1003, kGpu, Activity,
     ArgumentOf(Integral::kSmPpmUs)},  // Every active SM has all its warps.
    {1004, 1004, kGpu, Activity, ArgumentOf(Integral::kTensorPpmUs)},
    {1005, 1005, kGpu, Activity, ArgumentOf(Integral::kDramPpmUs)},
    {1006, 1006, kGpu, Activity, ArgumentOf(Integral::kFp64PpmUs)},
    {1007, 1007, kGpu, Activity, ArgumentOf(Integral::kFp32PpmUs)},
    {1008, 1008, kGpu, Activity, ArgumentOf(Integral::kFp16PpmUs)},
    {1009, 1009, kGpu, PcieRate, ArgumentOf(Integral::kPcieTxBytes)},
    {1010, 1010, kGpu, PcieRate, ArgumentOf(Integral::kPcieRxBytes)},
    {1011, 1011, kGpu, NvlinkRate, ArgumentOf(Integral::kNvlinkTxBytes)},
    {1012, 1012, kGpu, NvlinkRate, ArgumentOf(Integral::kNvlinkRxBytes)},
    {1017, 1017, kGpu, Activity, ArgumentOf(Integral::kDecoderPpmUs)},
    {1025, 1025, kGpu, JpegOrOfaActivity, ArgumentOf(Integral::kJpegPpmUs)},
    {1033, 1033, kGpu, JpegOrOfaActivity, ArgumentOf(Integral::kOfaPpmUs)},
    {1040, 1075, kGpu, NvlinkRateOfLink, 0},
    {1091, 1091, kGpu, BytesTotal, ArgumentOf(Integral::kPcieTxBytes)},
    {1092, 1092, kGpu, BytesTotal, ArgumentOf(Integral::kPcieRxBytes)},
    {1201, 1201, kGpu, NvlinkBytes, ArgumentOf(Integral::kNvlinkTxBytes)},
    {1203, 1203, kGpu, NvlinkBytes, ArgumentOf(Integral::kNvlinkRxBytes)},
    {1420, 1420, kGpu, Violation, ArgumentOf(Integral::kPowerViolationNs)},
    {1421, 1421, kGpu, Zero, 0},
    {1422, 1422, kGpu, Violation, ArgumentOf(Integral::kThermalViolationNs)},
    {1423, 1424, kGpu, Zero, 0},
    {1501, 1501, kGpu, PcieReplay, 0},  // Each error causes a replay.
    {1523, 1523, kGpu, Recovery, 0},
    {1525, 1528, kLink, OwnLinkErrors, 0},
    {1529, 1529, kLink, OwnThroughput, 0},
    {1530, 1530, kLink, OwnThroughputTx, 0},
    {1531, 1531, kLink, OwnThroughputRx, 0},
    {1532, 1532, kLink, OwnNvlinkRate, ArgumentOf(Integral::kNvlinkTxBytes)},
    {1533, 1533, kLink, OwnNvlinkRate, ArgumentOf(Integral::kNvlinkRxBytes)},
    {1600, 1600, kGpu, Bar1TotalBytes, 0},
    {1601, 1601, kGpu, Bar1UsedBytesNow, 0},
    {1602, 1602, kGpu, Bar1FreeBytes, 0},
    {1603, 1605, kGpu, Hertz, 100},
    {1606, 1607, kGpu, Hertz, 110},
    {1608, 1610, kGpu, Hertz, 113},
    {1611, 1611, kGpu, Joules, 156},
    {1612, 1612, kGpu, OfPercent, 191},
    {1613, 1614, kGpu, OfPercent, 203},
    {1615, 1616, kGpu, OfPercent, 206},
    {1617, 1624, kGpu, Seconds, 240},
    {1625, 1625, kGpu, MemoryTotalBytes, 0},
    {1626, 1626, kGpu, MemoryFreeBytes, 0},
    {1627, 1627, kGpu, MemoryUsedBytes, 0},
    {1628, 1628, kGpu, MemoryReservedBytes, 0},
    {1630, 1635, kGpu, NvlinkBytesPerSecond, 440},
    {1636, 1641, kGpu, NvlinkBytesPerSecond, 475},
    {1642, 1644, kGpu, NvlinkBytesPerSecond, 446},
    {1645, 1647, kGpu, NvlinkBytesPerSecond, 494},
    {1648, 1648, kGpu, NvlinkBytesPerSecond, 449},
});

constexpr bool AscendsWithoutOverlap() {
  for (size_t i = 0; i < kReadings.size(); ++i) {
    if (kReadings[i].last < kReadings[i].first ||
        (i > 0 && kReadings[i].first <= kReadings[i - 1].last)) {
      return false;
    }
  }
  return true;
}
static_assert(AscendsWithoutOverlap());

}  // namespace

const ReadingRow* FindReading(uint16_t field) {
  const auto found = std::ranges::lower_bound(kReadings, field, {}, &ReadingRow::last);
  return found != kReadings.end() && found->first <= field ? &*found : nullptr;
}

}  // namespace podgpu::sim
