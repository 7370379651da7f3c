// Reads a scenario's boards: classes, GPUs, MIG layouts, sharing, links.
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/scenario/mig_profiles.h"
#include "sim/scenario/parts.h"

namespace podgpu::sim {

namespace {

using Words = std::string_view;

constexpr size_t kMostGpus = 32;
constexpr size_t kMostClasses = 100;
constexpr int64_t kMillion = 1'000'000;

struct Feature {
  Words name;
  uint32_t flag;
};
constexpr std::array<Feature, 8> kFeatures = {{{"ecc", kHasEcc},
                                               {"fan", kHasFan},
                                               {"gpm", kHasGpm},
                                               {"jpeg_ofa", kHasJpegOfa},
                                               {"memory_temperature", kHasMemoryTemperature},
                                               {"power_is_average", kPowerIsAverage},
                                               {"retired_pages", kHasRetiredPages},
                                               {"row_remapping", kHasRowRemapping}}};

// The bus ids of the eight boards of a common server; further boards get the next PCI domain.
constexpr std::array<Words, 8> kBuses = {"1B", "43", "52", "61", "9D", "C3", "D1", "DF"};

int64_t ReadWatts(const Cursor& watts, int64_t otherwise_mw) {
  constexpr int64_t kMostWatts = 3'000;
  return watts.Millionths(otherwise_mw * 1'000, 0, kMostWatts * kMillion) / 1'000;
}

int64_t ReadAmbient(const Cursor& ambient, int64_t otherwise_millic) {
  constexpr int64_t kHottestC = 60;
  return ambient.Millionths(otherwise_millic * 1'000, 0, kHottestC * kMillion) / 1'000;
}

void ReadFeatures(const Cursor& features, GpuClass& figures) {
  if (!features.present()) {
    return;
  }
  std::array<Words, kFeatures.size()> names;
  std::transform(kFeatures.begin(), kFeatures.end(), names.begin(),
                 [](const Feature& feature) { return feature.name; });
  figures.flags = 0;
  for (const Cursor& feature : features.Elements()) {
    figures.flags |= kFeatures.at(feature.Choice(names, 0)).flag;
  }
}

void ReadPowerFigures(const Cursor& entry, GpuClass& figures) {
  figures.idle_mw = ReadWatts(entry.Key("idle_w"), figures.idle_mw);
  figures.limit_mw = ReadWatts(entry.Key("limit_w"), figures.limit_mw);
  figures.max_limit_mw = std::max(figures.max_limit_mw, figures.limit_mw);
  figures.min_limit_mw = std::min(figures.min_limit_mw, figures.limit_mw);
  figures.k_mw = ReadWatts(entry.Key("k_w"), figures.k_mw);
  figures.m_mw = ReadWatts(entry.Key("m_w"), figures.m_mw);
  if (figures.idle_mw >= figures.limit_mw) {
    entry.Fail("idle_w must be below limit_w; found " + std::to_string(figures.idle_mw) +
               " mW and " + std::to_string(figures.limit_mw) + " mW");
  }
}

ClassSpec ReadClass(const std::string& name, const Cursor& entry) {
  constexpr std::array<Words, 14> kKeys = {
      "base",     "model",     "idle_w",    "limit_w", "k_w",          "m_w",
      "tau_s",    "r_k_per_w", "ambient_c", "memory",  "sm_clock_mhz", "memory_clock_mhz",
      "features", "nvlink"};
  std::vector<Words> bases;
  for (const GpuClass& row : GpuClasses()) {
    bases.push_back(row.name);
  }
  ClassSpec spec;
  spec.name = name;
  const GpuClass* const same = FindGpuClass(name);
  const Cursor base = same == nullptr ? entry.Need("base") : entry.Key("base");
  spec.figures = GpuClasses()[base.Choice(
      bases, same == nullptr ? 0 : static_cast<size_t>(same - GpuClasses().data()))];
  if (!entry.ExpectKeys(kKeys)) {
    return spec;
  }
  GpuClass& figures = spec.figures;
  spec.model = entry.Key("model").Text(figures.model);
  spec.ambient_millic = ReadAmbient(entry.Key("ambient_c"), spec.ambient_millic);
  ReadPowerFigures(entry, figures);
  const auto millionths = [&entry](Words key, double otherwise, int64_t least, int64_t most) {
    const auto fallback = std::llround(otherwise * kMillion);
    return static_cast<double>(entry.Key(key).Millionths(fallback, least, most)) / kMillion;
  };
  figures.time_constant_s =
      millionths("tau_s", figures.time_constant_s, kMillion, 3'600 * kMillion);
  figures.resistance_k_per_w =
      millionths("r_k_per_w", figures.resistance_k_per_w, 0, 10 * kMillion);
  constexpr int64_t kMib = 1 << 20;
  figures.memory_total_mib = entry.Key("memory").Bytes(figures.memory_total_mib * kMib) / kMib;
  if (figures.memory_total_mib <= figures.memory_reserved_mib) {
    entry.Key("memory").Fail("must be more than the " +
                             std::to_string(figures.memory_reserved_mib) + " MiB reserved");
  }
  figures.max_sm_clock_mhz =
      static_cast<int>(entry.Key("sm_clock_mhz")
                           .Integer(figures.max_sm_clock_mhz, figures.idle_sm_clock_mhz, 9'999));
  figures.max_memory_clock_mhz = static_cast<int>(
      entry.Key("memory_clock_mhz").Integer(figures.max_memory_clock_mhz, 100, 99'999));
  figures.nvlink_count = static_cast<int>(entry.Key("nvlink").Integer(figures.nvlink_count, 0, 18));
  ReadFeatures(entry.Key("features"), figures);
  return spec;
}

MigSpec ReadMigInstance(const Cursor& entry) {
  constexpr std::array<Words, 3> kKeys = {"profile", "start", "ci"};
  MigSpec spec;
  spec.place = entry.place();
  if (entry.IsScalar()) {
    spec.profile = entry.Text("");
    return spec;
  }
  if (!entry.ExpectKeys(kKeys)) {
    return spec;
  }
  spec.profile = entry.Need("profile").Text("");
  if (const Cursor start = entry.Key("start"); start.present()) {
    spec.start = static_cast<int>(start.Integer(0, 0, kMemorySlicesPerChip - 1));
  }
  for (const Cursor& compute : entry.Key("ci").Elements()) {
    spec.computes.push_back(compute.Text(""));
  }
  return spec;
}

void ReadSharing(const Cursor& sharing, GpuSpec& gpu) {
  constexpr std::array<Words, 2> kKeys = {"kind", "replicas"};
  constexpr std::array<Words, 2> kSharingKinds = {"time_slicing", "mps"};
  if (!sharing.present() || !sharing.ExpectKeys(kKeys)) {
    return;
  }
  gpu.sharing =
      sharing.Need("kind").Choice(kSharingKinds, 0) == 0 ? Sharing::kTimeSlicing : Sharing::kMps;
  gpu.replicas = static_cast<int>(sharing.Need("replicas").Integer(2, 1, 48));
  if (gpu.mig_enabled) {
    sharing.Fail("a GPU in MIG mode cannot be shared as a whole; drop 'mig' or 'sharing'");
  }
}

// "00000000:1B:00.0" for the n-th board of a node, or the n-th after a given first one.
std::string BusId(const Cursor& first, int64_t number, size_t index) {
  std::string text = first.Text("");
  if (text.empty()) {
    return "0000000" + std::to_string(index / kBuses.size()) + ":" +
           std::string(kBuses.at(index % kBuses.size())) + ":00.0";
  }
  constexpr Words kHex = "0123456789ABCDEF";
  const bool good = text.size() == 16 && text[8] == ':' && text.substr(11) == ":00.0" &&
                    text.find_first_not_of(kHex) == 8 && kHex.find(text[9]) != Words::npos &&
                    kHex.find(text[10]) != Words::npos;
  const int64_t bus =
      good ? static_cast<int64_t>(kHex.find(text[9]) * 16 + kHex.find(text[10])) + number : 0;
  if (!good || bus > 255) {
    first.Fail("must be a PCI address such as 00000000:1B:00.0 with room for 'count' buses");
    return text;
  }
  const auto digit = [&](int64_t value) { return kHex.at(static_cast<size_t>(value)); };
  return text.substr(0, 9) + digit(bus / 16) + digit(bus % 16) + ":00.0";
}

// "GPU-" and 8-4-4-4-12 lower-case hexadecimal digits.
void ReadUuid(const Cursor& uuid, int64_t count, GpuSpec& gpu) {
  gpu.uuid = uuid.Text("");
  if (gpu.uuid.empty()) {
    return;
  }
  bool good = gpu.uuid.size() == 40 && gpu.uuid.starts_with("GPU-");
  for (size_t i = 4; good && i < gpu.uuid.size(); ++i) {
    const bool dash = i == 12 || i == 17 || i == 22 || i == 27;
    good = dash ? gpu.uuid[i] == '-'
                : std::string_view("0123456789abcdef").find(gpu.uuid[i]) != Words::npos;
  }
  if (!good) {
    uuid.Fail("must be GPU- and 8-4-4-4-12 lower-case hexadecimal digits");
  } else if (count > 1) {
    uuid.Fail("names one board, but 'count' is " + std::to_string(count));
  }
}

void ReadGpu(const Cursor& entry, Scenario& scenario) {
  constexpr std::array<Words, 9> kKeys = {"count", "class",     "first_bus", "mig",  "sharing",
                                          "model", "ambient_c", "uuid",      "minor"};
  if (!entry.ExpectKeys(kKeys)) {
    return;
  }
  std::vector<Words> names;
  names.reserve(scenario.classes.size());
  for (const ClassSpec& spec : scenario.classes) {
    names.push_back(spec.name);
  }
  GpuSpec gpu;
  gpu.place = entry.place();
  gpu.class_index = entry.Need("class").Choice(names, 0);
  const ClassSpec& board = scenario.classes.at(gpu.class_index);
  gpu.model = entry.Key("model").Text(board.model);
  gpu.ambient_millic = ReadAmbient(entry.Key("ambient_c"), board.ambient_millic);
  gpu.mig_enabled = entry.Key("mig").present();
  gpu.mig = ReadMigLayout(entry.Key("mig"));
  ReadSharing(entry.Key("sharing"), gpu);
  const int64_t count = entry.Key("count").Integer(1, 1, static_cast<int64_t>(kMostGpus));
  ReadUuid(entry.Key("uuid"), count, gpu);
  for (int64_t i = 0; i < count; ++i) {
    const size_t index = scenario.gpus.size();
    if (index >= kMostGpus) {
      entry.Fail("a node has at most " + std::to_string(kMostGpus) + " GPUs");
      return;
    }
    gpu.bus_id = BusId(entry.Key("first_bus"), i, index);
    gpu.minor_number =
        static_cast<int>(entry.Key("minor").Integer(static_cast<int64_t>(index) - i, 0, 255) + i);
    scenario.gpus.push_back(gpu);
  }
}

// Identifiers that must differ between the boards of a node.
void CheckDistinct(const Cursor& gpus, const Scenario& scenario) {
  for (size_t i = 0; i < scenario.gpus.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const GpuSpec& a = scenario.gpus[k];
      const GpuSpec& b = scenario.gpus[i];
      const auto complain = [&](const std::string& what) {
        gpus.Fail("GPUs " + std::to_string(k) + " and " + std::to_string(i) + " have the same " +
                  what);
      };
      if (!a.uuid.empty() && a.uuid == b.uuid) {
        complain("uuid " + a.uuid);
      }
      if (a.bus_id == b.bus_id) {
        complain("PCI address " + a.bus_id);
      }
      if (a.minor_number == b.minor_number) {
        complain("minor number " + std::to_string(a.minor_number));
      }
    }
  }
}

}  // namespace

std::vector<MigSpec> ReadMigLayout(const Cursor& layout) {
  std::vector<MigSpec> specs;
  for (const Cursor& entry : layout.Elements()) {
    specs.push_back(ReadMigInstance(entry));
  }
  return specs;
}

void ReadClasses(const Cursor& classes, Scenario& scenario) {
  for (const GpuClass& row : GpuClasses()) {
    scenario.classes.push_back({std::string(row.name), std::string(row.model), row});
  }
  const auto entries = classes.Entries();
  if (entries.size() > kMostClasses) {
    classes.Fail("at most " + std::to_string(kMostClasses) + " classes");
    return;
  }
  for (const auto& [name, entry] : entries) {
    ClassSpec spec = ReadClass(name, entry);
    const auto same = std::find_if(scenario.classes.begin(), scenario.classes.end(),
                                   [&spec](const ClassSpec& row) { return row.name == spec.name; });
    if (same == scenario.classes.end()) {
      scenario.classes.push_back(std::move(spec));
    } else {
      *same = std::move(spec);
    }
  }
}

void ReadGpus(const Cursor& gpus, Scenario& scenario) {
  for (const Cursor& entry : gpus.Elements()) {
    if (scenario.gpus.size() >= kMostGpus) {
      entry.Fail("a node has at most " + std::to_string(kMostGpus) + " GPUs");
      break;
    }
    ReadGpu(entry, scenario);
  }
  CheckDistinct(gpus, scenario);
}

void ReadLinks(const Cursor& links, Scenario& scenario) {
  constexpr std::array<Words, 3> kKeys = {"nvlink", "per_gpu", "switches"};
  constexpr std::array<Words, 2> kShapes = {"full_mesh", "none"};
  if (!links.ExpectKeys(kKeys)) {
    return;
  }
  if (links.Key("nvlink").Choice(kShapes, 0) == 1) {
    scenario.nvlink_per_gpu = 0;
  } else {
    scenario.nvlink_per_gpu = static_cast<int>(links.Key("per_gpu").Integer(-1, 0, 18));
  }
  scenario.nvswitch_count = static_cast<int>(links.Key("switches").Integer(0, 0, kMostSwitches));
}

void ReadCpus(const Cursor& cpus, Scenario& scenario) {
  constexpr std::array<Words, 1> kKeys = {"cores"};
  constexpr int64_t kCoresOfGrace = 72;
  int64_t all_cores = 0;
  for (const Cursor& entry : cpus.Elements()) {
    if (scenario.cpu_cores.size() >= kMostCpus) {
      entry.Fail("a node has at most " + std::to_string(kMostCpus) + " CPUs");
      return;
    }
    if (entry.ExpectKeys(kKeys)) {
      const int64_t cores = entry.Key("cores").Integer(kCoresOfGrace, 1, kMostCores);
      all_cores += cores;
      scenario.cpu_cores.push_back(static_cast<int>(cores));
    }
  }
  if (all_cores > kMostCores) {
    cpus.Fail("a node has at most " + std::to_string(kMostCores) + " cores; found " +
              std::to_string(all_cores));
  }
}

}  // namespace podgpu::sim
