// Both faces read the same world: each field that DCGM and NVML share has the same number at the
// same time, after NVML's is converted to DCGM's unit; a number that one lacks, the other lacks
// too.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_codes.h"
#include "fields/field.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"
#include "sim/testing/nvml_client.h"

namespace podgpu::sim {
namespace {

using abi::nvmlDevice_t;

// NVML's value of a device in DCGM's unit; empty when there is none, for any reason.
using Told = std::optional<double>;
using NvmlReader = std::function<Told(const NvmlClient&, nvmlDevice_t)>;

struct SharedField {
  unsigned short field;
  NvmlReader tell;
};

template <typename Number = unsigned>
NvmlReader OfCall(const char* name, double unit = 1) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    Number number{};
    return nvml.Call(name, device, &number) == 0 ? Told(static_cast<double>(number) / unit)
                                                 : std::nullopt;
  };
}
template <typename Number = unsigned>
NvmlReader OfChoice(const char* name, int choice) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    Number number{};
    return nvml.Call(name, device, choice, &number) == 0 ? Told(static_cast<double>(number))
                                                         : std::nullopt;
  };
}
NvmlReader WholeWattsOf(const char* name) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    unsigned milliwatts = 0;
    return nvml.Call(name, device, &milliwatts) == 0 ? Told(milliwatts / 1000) : std::nullopt;
  };
}
NvmlReader ConstraintOf(bool most) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    unsigned least_mw = 0;
    unsigned most_mw = 0;
    const int result =
        nvml.Call("nvmlDeviceGetPowerManagementLimitConstraints", device, &least_mw, &most_mw);
    return result == 0 ? Told((most ? most_mw : least_mw) / 1000) : std::nullopt;
  };
}
NvmlReader FieldOf(unsigned field, double unit = 1) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    abi::nvmlFieldValue_t value{};
    value.fieldId = field;
    if (nvml.Call("nvmlDeviceGetFieldValues", device, 1, &value) != 0 || value.nvmlReturn != 0) {
      return std::nullopt;
    }
    const bool is_short = value.valueType == abi::NVML_VALUE_TYPE_UNSIGNED_INT;
    return (is_short ? value.value.uiVal : static_cast<double>(value.value.ullVal)) / unit;
  };
}
NvmlReader EngineOf(const char* name) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    unsigned percent = 0;
    unsigned period_us = 0;
    return nvml.Call(name, device, &percent, &period_us) == 0 ? Told(percent) : std::nullopt;
  };
}
template <typename Struct>
NvmlReader MemberOf(const char* name, std::function<double(const Struct&)> member,
                    Struct start = {}) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    Struct answer = start;
    return nvml.Call(name, device, &answer) == 0 ? Told(member(answer)) : std::nullopt;
  };
}
NvmlReader EccOf(int type, int counter, int location) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    unsigned long long count = 0;
    const int result =
        location < 0
            ? nvml.Call("nvmlDeviceGetTotalEccErrors", device, type, counter, &count)
            : nvml.Call("nvmlDeviceGetMemoryErrorCounter", device, type, counter, location, &count);
    return result == 0 ? Told(static_cast<double>(count)) : std::nullopt;
  };
}
NvmlReader PairOf(const char* name, bool second) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    int one = -1;
    int two = -1;
    return nvml.Call(name, device, &one, &two) == 0 ? Told(second ? two : one) : std::nullopt;
  };
}
// DCGM reports 0 where there is no MIG.
Told MigModeOf(const NvmlClient& nvml, nvmlDevice_t device) {
  unsigned current = 0;
  unsigned pending = 0;
  const int result = nvml.Call("nvmlDeviceGetMigMode", device, &current, &pending);
  return result == 0 || result == abi::NVML_ERROR_NOT_SUPPORTED ? Told(current) : std::nullopt;
}
Told RetiredSingleBit(const NvmlClient& nvml, nvmlDevice_t device) {
  unsigned count = 0;
  unsigned long long* const none = nullptr;
  const int result = nvml.Call("nvmlDeviceGetRetiredPages", device, 0, &count, none);
  return result == 0 || result == abi::NVML_ERROR_INSUFFICIENT_SIZE ? Told(count) : std::nullopt;
}
NvmlReader RemappedRows(int which) {
  return [=](const NvmlClient& nvml, nvmlDevice_t device) -> Told {
    unsigned rows[4] = {};
    const int result =
        nvml.Call("nvmlDeviceGetRemappedRows", device, &rows[0], &rows[1], &rows[2], &rows[3]);
    return result == 0 ? Told(rows[which]) : std::nullopt;
  };
}

void AddMemory(std::vector<SharedField>& fields) {
  constexpr double kMib = 1 << 20;
  using V2 = abi::nvmlMemory_v2_t;
  const V2 version{.version = abi::nvmlMemory_v2, .total = 0, .reserved = 0, .free = 0, .used = 0};
  const auto of = [&](auto member) {
    return MemberOf<V2>(
        "nvmlDeviceGetMemoryInfo_v2",
        [=](const V2& m) { return std::floor(static_cast<double>(m.*member) / kMib); }, version);
  };
  fields.push_back({250, of(&V2::total)});
  fields.push_back({251, of(&V2::free)});
  fields.push_back({252, of(&V2::used)});
  fields.push_back({253, of(&V2::reserved)});
  fields.push_back({254, MemberOf<V2>(
                             "nvmlDeviceGetMemoryInfo_v2",
                             [](const V2& m) {
                               return static_cast<double>(m.used) /
                                      static_cast<double>(m.total - m.reserved);
                             },
                             version)});
}

void AddBar1(std::vector<SharedField>& fields) {
  using Bar1 = abi::nvmlBAR1Memory_t;
  const auto of = [](auto member) {
    return MemberOf<Bar1>("nvmlDeviceGetBAR1MemoryInfo",
                          [=](const Bar1& m) { return static_cast<double>(m.*member >> 20U); });
  };
  fields.push_back({90, of(&Bar1::bar1Total)});
  fields.push_back({92, of(&Bar1::bar1Used)});
  fields.push_back({93, of(&Bar1::bar1Free)});
}

void AddEcc(std::vector<SharedField>& fields) {
  fields.push_back({300, PairOf("nvmlDeviceGetEccMode", false)});
  fields.push_back({301, PairOf("nvmlDeviceGetEccMode", true)});
  const std::vector<std::pair<unsigned short, unsigned short>> locations = {
      {314, 324}, {316, 326}, {318, 328}, {320, 330},
      {322, 332}, {334, 338}, {336, 340}, {342, 344}};
  for (unsigned short type = 0; type < 2; ++type) {
    fields.push_back({static_cast<unsigned short>(310 + type), EccOf(type, 0, -1)});
    fields.push_back({static_cast<unsigned short>(312 + type), EccOf(type, 1, -1)});
    for (size_t i = 0; i < locations.size(); ++i) {
      const int location = static_cast<int>(i);
      fields.push_back(
          {static_cast<unsigned short>(locations[i].first + type), EccOf(type, 0, location)});
      fields.push_back(
          {static_cast<unsigned short>(locations[i].second + type), EccOf(type, 1, location)});
    }
  }
}

// Fields whose nvmlDeviceGetFieldValues value needs no conversion.
void AddFieldValues(std::vector<SharedField>& fields) {
  const std::vector<std::pair<unsigned, unsigned short>> pairs = {
      {1, 300},    {2, 301},    {3, 310},   {4, 311},   {5, 312},    {6, 313},    {29, 390},
      {30, 391},   {31, 392},   {38, 409},  {45, 419},  {52, 429},   {59, 439},   {74, 240},
      {75, 241},   {76, 242},   {77, 243},  {78, 244},  {79, 245},   {80, 246},   {81, 247},
      {82, 140},   {83, 156},   {94, 202},  {142, 394}, {143, 393},  {144, 396},  {145, 395},
      {173, 1501}, {230, 1523}, {74, 1420}, {76, 1421}, {269, 1422}, {270, 1423}, {271, 1424},
      {161, 499},  {162, 498},  {163, 497}, {32, 400},  {50, 424},   {96, 451},   {119, 474}};
  for (const auto& [nvml, dcgm] : pairs) {
    fields.push_back({dcgm, FieldOf(nvml)});
  }
  fields.push_back({157, FieldOf(186, 1000)});
}

std::vector<SharedField> SharedFields() {
  std::vector<SharedField> fields = {
      {52, OfCall("nvmlDeviceGetIndex")},
      {55, OfCall("nvmlDeviceGetMinorNumber")},
      {65, OfCall("nvmlDeviceGetComputeMode")},
      {66, OfCall("nvmlDeviceGetPersistenceMode")},
      {67, MigModeOf},
      {100, OfChoice("nvmlDeviceGetClockInfo", abi::NVML_CLOCK_SM)},
      {101, OfChoice("nvmlDeviceGetClockInfo", abi::NVML_CLOCK_MEM)},
      {102, OfChoice("nvmlDeviceGetClockInfo", abi::NVML_CLOCK_VIDEO)},
      {110, OfChoice("nvmlDeviceGetApplicationsClock", abi::NVML_CLOCK_GRAPHICS)},
      {111, OfChoice("nvmlDeviceGetApplicationsClock", abi::NVML_CLOCK_MEM)},
      {112, OfCall<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons")},
      {112, OfCall<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons")},
      {113, OfChoice("nvmlDeviceGetMaxClockInfo", abi::NVML_CLOCK_SM)},
      {114, OfChoice("nvmlDeviceGetMaxClockInfo", abi::NVML_CLOCK_MEM)},
      {115, OfChoice("nvmlDeviceGetMaxClockInfo", abi::NVML_CLOCK_VIDEO)},
      {150, OfChoice("nvmlDeviceGetTemperature", 0)},
      {151, OfChoice("nvmlDeviceGetTemperatureThreshold", 2)},
      {152, OfChoice("nvmlDeviceGetTemperatureThreshold", 3)},
      {153, MemberOf<abi::nvmlMarginTemperature_v1_t>(
                "nvmlDeviceGetMarginTemperature", [](const auto& m) { return m.marginTemperature; },
                {abi::nvmlMarginTemperature_v1, 0})},
      {155, OfCall("nvmlDeviceGetPowerUsage", 1000)},
      {156, OfCall<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption")},
      {158, OfChoice("nvmlDeviceGetTemperatureThreshold", 1)},
      {159, OfChoice("nvmlDeviceGetTemperatureThreshold", 0)},
      {160, WholeWattsOf("nvmlDeviceGetPowerManagementLimit")},
      {161, ConstraintOf(false)},
      {162, ConstraintOf(true)},
      {163, WholeWattsOf("nvmlDeviceGetPowerManagementDefaultLimit")},
      {164, WholeWattsOf("nvmlDeviceGetEnforcedPowerLimit")},
      {190, OfCall("nvmlDeviceGetPerformanceState")},
      {191, OfCall("nvmlDeviceGetFanSpeed")},
      {202, OfCall("nvmlDeviceGetPcieReplayCounter")},
      {203, MemberOf<abi::nvmlUtilization_t>("nvmlDeviceGetUtilizationRates",
                                             [](const auto& m) { return m.gpu; })},
      {204, MemberOf<abi::nvmlUtilization_t>("nvmlDeviceGetUtilizationRates",
                                             [](const auto& m) { return m.memory; })},
      {206, EngineOf("nvmlDeviceGetEncoderUtilization")},
      {207, EngineOf("nvmlDeviceGetDecoderUtilization")},
      {235, OfCall("nvmlDeviceGetMaxPcieLinkGeneration")},
      {236, OfCall("nvmlDeviceGetMaxPcieLinkWidth")},
      {237, OfCall("nvmlDeviceGetCurrPcieLinkGeneration")},
      {238, OfCall("nvmlDeviceGetCurrPcieLinkWidth")},
      {390, RetiredSingleBit},
      {392, OfCall<int>("nvmlDeviceGetRetiredPagesPendingStatus")},
      {393, RemappedRows(1)},
      {394, RemappedRows(0)},
      {395, RemappedRows(3)},
      {396, RemappedRows(2)},
      {500, OfCall<int>("nvmlDeviceGetVirtualizationMode")},
  };
  using Rows = abi::nvmlRowRemapperHistogramValues_t;
  const auto banks = [](auto member) {
    return MemberOf<Rows>("nvmlDeviceGetRowRemapperHistogram",
                          [=](const Rows& m) { return m.*member; });
  };
  fields.push_back({385, banks(&Rows::max)});
  fields.push_back({386, banks(&Rows::high)});
  fields.push_back({387, banks(&Rows::partial)});
  fields.push_back({388, banks(&Rows::low)});
  fields.push_back({389, banks(&Rows::none)});
  AddMemory(fields);
  AddBar1(fields);
  AddEcc(fields);
  AddFieldValues(fields);
  return fields;
}

Told ByDcgm(const Seen& seen) {
  if (seen.status != 0) {
    return std::nullopt;
  }
  if (seen.type == abi::DCGM_FT_DOUBLE) {
    return seen.real >= abi::DCGM_FP64_BLANK ? std::nullopt : Told(seen.real);
  }
  return seen.number >= abi::DCGM_INT64_BLANK ? std::nullopt
                                              : Told(static_cast<double>(seen.number));
}

// Both faces of one node at one time.
class Faces {
 public:
  explicit Faces(const std::string& scenario) : bench_(4, scenario) {
    bench_.Start();
    EXPECT_EQ(nvml_.Call("nvmlInitWithFlags", 1U), 0);
  }
  Faces(const Faces&) = delete;
  Faces& operator=(const Faces&) = delete;
  ~Faces() { nvml_.Call("nvmlShutdown"); }

  DcgmBench& bench() { return bench_; }
  const NvmlClient& nvml() const { return nvml_; }

  // Compares every shared field of every GPU; returns how many numbers both reported.
  int Compare(const std::string& where) {
    static const std::vector<SharedField> shared = SharedFields();
    std::vector<unsigned short> ids;
    for (const SharedField& one : shared) {
      ids.push_back(one.field);
    }
    int numbers = 0;
    for (int gpu = 0; gpu < bench_.world().gpu_count(); ++gpu) {
      nvmlDevice_t device = nullptr;
      nvml_.Call("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(gpu), &device);
      for (size_t i = 0; i < shared.size(); ++i) {
        const Seen seen = bench_.ReadLive(kGpu, static_cast<uint32_t>(gpu), {ids[i]})[0];
        const Told dcgm = ByDcgm(seen);
        const Told nvml = shared[i].tell(nvml_, device);
        EXPECT_EQ(dcgm, nvml) << where << " GPU " << gpu << " field " << ids[i] << " row " << i
                              << ": DCGM " << dcgm.value_or(-1) << ", NVML " << nvml.value_or(-1);
        numbers += nvml ? 1 : 0;
      }
    }
    return numbers;
  }

 private:
  DcgmBench bench_;
  NvmlClient nvml_;
};

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FaceAgreement, HoldsInEveryShippedScenario) {
  // Skips calls and values on which a fault of one library acts; the other cannot be compared.
  const std::set<std::string> one_sided = {"fault-call", "fault-engine", "fault-field",
                                           "fault-hang", "fault-no-driver"};
  int scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator("sim/scenarios")) {
    const std::string name = entry.path().stem().string();
    if (one_sided.contains(name)) {
      continue;
    }
    Faces faces(ReadFile(entry.path()));
    const bool has_gpus = faces.bench().world().gpu_count() > 0;
    TimeUs at = 0;
    for (const TimeUs next : {TimeUs{1'500'000}, TimeUs{12'345'678}, TimeUs{62'345'678},
                              TimeUs{121'000'001}, TimeUs{86'400'123'457}}) {
      faces.bench().Tick(next - at);
      at = next;
      const int numbers = faces.Compare(name + " at " + std::to_string(at));
      EXPECT_EQ(numbers > 50, has_gpus) << name;
    }
    ++scenarios;
  }
  EXPECT_GT(scenarios, 15);
}

// One busy board of each class: a reading that one library lacks, the other lacks too.
TEST(FaceAgreement, HoldsOnEveryGeneration) {
  std::string scenario =
      "format: 1\nname: generations\nseed: 9\nepoch: 2026-01-01T00:00:00Z\ngpus:\n";
  for (const char* board : {"v100-sxm2-32gb", "t4", "a100-sxm4-80gb", "a10", "l40s",
                            "h100-sxm5-80gb", "h200-sxm5-141gb", "b200", "geforce-rtx-4090"}) {
    scenario += std::string("  - {class: ") + board + "}\n";
  }
  scenario +=
      "loads:\n  busy: {phases: [{for: 4s, sm: 80%, mem: 50%, enc: 20%, dec: 10%}, "
      "{for: 2s, sm: 10%}]}\npods:\n"
      "  - {name: p, namespace: n, containers: [{name: c, gpus: [0, 1, 2, 3, 4, 5, 6, 7, 8],"
      " processes: [";
  for (int gpu = 0; gpu < 9; ++gpu) {
    scenario += (gpu == 0 ? "" : ", ") + std::string("{pid: ") + std::to_string(100 + gpu) +
                ", gpu: " + std::to_string(gpu) + ", load: busy, memory: 4GiB}";
  }
  scenario += "]}]}\nfaults:\n";
  for (int gpu = 0; gpu < 8; ++gpu) {  // The last GPU has no ECC.
    scenario += "  - {at: 5s, kind: ecc, gpu: " + std::to_string(gpu) +
                ", error: dbe, count: 2, location: sram}\n";
  }
  Faces faces(scenario);
  TimeUs at = 0;
  for (const TimeUs next : {TimeUs{999'999}, TimeUs{7'654'321}, TimeUs{3'600'500'000}}) {
    faces.bench().Tick(next - at);
    at = next;
    EXPECT_GT(faces.Compare("at " + std::to_string(at)), 9 * 50);
  }
}

// The first GPU's energy counter, as another process reads it through NVML.
unsigned long long EnergyInAnotherProcess() {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const NvmlClient nvml;
    unsigned long long energy_mj = 0;
    const bool is_told =
        nvml.Call("nvmlInit_v2") == 0 &&
        nvml.Call("nvmlDeviceGetTotalEnergyConsumption", nvml.ByIndex(0), &energy_mj) == 0 &&
        write(ends[1], &energy_mj, sizeof energy_mj) == sizeof energy_mj;
    _exit(is_told ? 0 : 1);
  }
  close(ends[1]);
  unsigned long long energy_mj = 0;
  EXPECT_EQ(read(ends[0], &energy_mj, sizeof energy_mj), ssize_t{sizeof energy_mj});
  close(ends[0]);
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return energy_mj;
}

TEST(FaceAgreement, TwoProcessesReadOneEnergyCounter) {
  DcgmBench bench(4, kWorkedExample);
  bench.Start();
  long long before = 0;
  for (const TimeUs step :
       {TimeUs{1}, TimeUs{99'999}, TimeUs{12'345'678}, TimeUs{86'400'000'000}}) {
    bench.Tick(step);
    const long long energy_mj = bench.ReadLive(kGpu, 0, {156})[0].number;
    EXPECT_EQ(energy_mj, static_cast<long long>(EnergyInAnotherProcess())) << step;
    EXPECT_GE(energy_mj, before);
    before = energy_mj;
  }
}

// The same in one process, with known numbers.
TEST(FaceAgreement, HoldsInTheWorkedExample) {
  Faces faces(kWorkedExample);
  const auto energy = [&] {
    unsigned long long energy_mj = 0;
    EXPECT_EQ(faces.nvml().Call("nvmlDeviceGetTotalEnergyConsumption", faces.nvml().ByIndex(0),
                                &energy_mj),
              0);
    return energy_mj;
  };
  const unsigned long long start_mj = energy();
  faces.bench().Tick(12'345'678);
  EXPECT_EQ(energy() - start_mj, 4'431'900U);
  EXPECT_EQ(faces.nvml().Number("nvmlDeviceGetPowerUsage", faces.nvml().ByIndex(0)), 342'100U);
  EXPECT_EQ(static_cast<long long>(energy()), faces.bench().ReadLive(kGpu, 0, {156})[0].number);
  const abi::nvmlFieldValue_t counter = faces.nvml().Field(faces.nvml().ByIndex(0), 83);
  EXPECT_EQ(counter.value.ullVal, energy());
  EXPECT_EQ(counter.timestamp, faces.bench().Stamp(12'300'000))
      << "the stamp is the time of the counter's refresh";
  EXPECT_EQ(faces.nvml().Field(faces.nvml().ByIndex(0), 186).value.uiVal, 613'000U);
}

}  // namespace
}  // namespace podgpu::sim
