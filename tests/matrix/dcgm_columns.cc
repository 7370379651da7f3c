#include "tests/matrix/dcgm_columns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <set>
#include <string_view>

#include "absl/strings/str_format.h"

#include "abi/dcgm.h"
#include "abi/dcgm_connect.h"
#include "abi/dcgm_cpus.h"
#include "abi/dcgm_devices.h"
#include "abi/dcgm_health.h"
#include "abi/dcgm_links.h"
#include "source/testing/fake_dcgm_values.h"

namespace podgpu {
namespace {

using namespace abi;  // NOLINT(google-build-using-namespace): uses the vendor's names throughout.

using Outs = std::span<const FakeOut>;

// These functions return a pointer, which is their output.
constexpr std::string_view kErrorString = "errorString";
constexpr std::string_view kFieldById = "DcgmFieldGetById";

bool ReturnsPointer(std::string_view symbol) {
  return symbol == kErrorString || symbol == kFieldById;
}

// Symbols without output.
bool WritesNothing(std::string_view symbol) {
  static const std::set<std::string_view> kSymbols = {
      "dcgmInit",           "dcgmShutdown",      "dcgmDisconnect",
      "dcgmGroupAddEntity", "dcgmGroupDestroy",  "dcgmFieldGroupDestroy",
      "dcgmWatchFields",    "dcgmUnwatchFields", "dcgmHealthSet"};
  return kSymbols.contains(symbol);
}

bool TellsValues(std::string_view symbol) {
  return symbol == "dcgmEntitiesGetLatestValues" || symbol == "dcgmGetValuesSince_v2";
}

// The position of a count in the output.
struct CountPlace {
  std::string_view symbol;
  size_t out;
  size_t offset;
  uint32_t capacity;
};
constexpr std::array<CountPlace, 9> kCounts = {{
    {"dcgmGetAllDevices", 1, 0, DCGM_MAX_NUM_DEVICES},
    {"dcgmGetGpuInstanceHierarchy", 0, offsetof(dcgmMigHierarchy_v2, count),
     DCGM_MAX_HIERARCHY_INFO},
    {"dcgmGetNvLinkLinkStatus", 0, offsetof(dcgmNvLinkStatus_v4, numGpus), DCGM_MAX_NUM_DEVICES},
    {"dcgmGetNvLinkLinkStatus", 0, offsetof(dcgmNvLinkStatus_v4, numNvSwitches),
     DCGM_MAX_NUM_SWITCHES},
    {"dcgmGetCpuHierarchy", 0, offsetof(dcgmCpuHierarchy_v1, numCpus), DCGM_MAX_NUM_CPUS},
    {"dcgmGetNvLinkP2PStatus", 0, offsetof(dcgmNvLinkP2PStatus_v1, numGpus), DCGM_MAX_NUM_DEVICES},
    {"dcgmHealthCheck", 0, offsetof(dcgmHealthResponse_v5, incidentCount), 1024},
    {"dcgmProfGetSupportedMetricGroups", 0, offsetof(dcgmProfGetMetricGroups_v3, numMetricGroups),
     10},
    {"dcgmProfGetSupportedMetricGroups", 0,
     offsetof(dcgmProfGetMetricGroups_v3, metricGroups) +
         offsetof(dcgmProfMetricGroupInfo_v2, numFieldIds),
     64},
}};

void PutWord(const FakeOut& out, size_t offset, uint32_t word) {
  std::memcpy(static_cast<std::byte*>(out.bytes) + offset, &word, sizeof word);
}

FakeFault Spoiling(std::function<void(Outs)> spoil) {
  FakeFault fault;
  fault.spoil = std::move(spoil);
  return fault;
}

FakeFault Filling(std::function<uint8_t()> next) {
  return Spoiling([next = std::move(next)](Outs outs) {
    for (const FakeOut& out : outs) {
      const std::span bytes(static_cast<uint8_t*>(out.bytes), out.size);
      std::ranges::generate(bytes, next);
    }
  });
}

FakeFault RandomBytes(uint32_t seed) {
  return Filling(
      [random = std::mt19937(seed)]() mutable { return static_cast<uint8_t>(random()); });
}

// Changes each value of a bulk answer.
FakeFault EachValue(std::function<void(dcgmFieldValue_v2&)> change) {
  return Spoiling([change = std::move(change)](Outs outs) {
    for (const FakeOut& out : outs) {
      const std::span values(static_cast<dcgmFieldValue_v2*>(out.bytes),
                             out.size / sizeof(dcgmFieldValue_v2));
      std::ranges::for_each(values, change);
    }
  });
}

template <typename Pointee>
FakeFault Pointing(const Pointee* to) {
  return Spoiling([to](Outs outs) { std::memcpy(outs[0].bytes, &to, sizeof to); });
}

void AddCodes(std::vector<FaultColumn>& columns) {
  constexpr int kNeverGiven[] = {-999, 1};
  for (int code = DCGM_ST_BADPARAM; code >= DCGM_ST_GPUS_DETACHED; --code) {
    columns.push_back({absl::StrFormat("DCGM %d", code), FaultKind::kCode, {.code = code}});
  }
  for (const int code : kNeverGiven) {
    columns.push_back({absl::StrFormat("DCGM %d", code), FaultKind::kCode, {.code = code}});
  }
}

void AddHangs(std::string_view symbol, std::vector<FaultColumn>& columns) {
  using Block = FakeFault::Block;
  const int freed = ReturnsPointer(symbol) ? DCGM_ST_OK : DCGM_ST_CONNECTION_NOT_VALID;
  columns.push_back({"blocks until disconnected",
                     FaultKind::kBlock,
                     {.code = 0, .block = Block::kUntilDisconnect}});
  columns.push_back(
      {"blocks until freed", FaultKind::kBlock, {.code = freed, .block = Block::kUntilFreed}});
  columns.push_back({"is late", FaultKind::kLate, {.code = 0, .block = Block::kUntilFreed}});
}

void AddGarbage(std::string_view symbol, std::vector<FaultColumn>& columns) {
  const auto add = [&](std::string name, FakeFault fault) {
    columns.push_back({std::move(name), FaultKind::kGarbage, std::move(fault), false});
  };
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    add(absl::StrFormat("random bytes %d", seed), RandomBytes(seed));
  }
  add("all bits set", Filling([] { return uint8_t{0xff}; }));
  add("all bits clear", Filling([] { return uint8_t{0}; }));
  add("text without end", Filling([] { return uint8_t{'A'}; }));
  add("wrong version", Spoiling([](Outs outs) { PutWord(outs[0], 0, 0x7f000001); }));
  for (const CountPlace& place : kCounts) {
    if (place.symbol == symbol) {
      for (const uint32_t count : {place.capacity + 1, 0x7fffffffU, 0xfffffffeU}) {
        add(absl::StrFormat("count %d at %d", count, place.offset),
            Spoiling([place, count](Outs outs) { PutWord(outs[place.out], place.offset, count); }));
      }
    }
  }
}

void AddValueGarbage(std::vector<FaultColumn>& columns) {
  const auto add = [&](std::string name, std::function<void(dcgmFieldValue_v2&)> change) {
    columns.push_back({std::move(name), FaultKind::kGarbage, EachValue(std::move(change)), false});
  };
  for (const int type :
       {int{DCGM_FT_DOUBLE}, int{DCGM_FT_INT64}, int{DCGM_FT_STRING}, int{DCGM_FT_BINARY}, 0}) {
    add(absl::StrFormat("all of type %d", type), [type](dcgmFieldValue_v2& raw) {
      const bool is_own = raw.fieldType == type;
      raw.fieldType = static_cast<uint16_t>(type);
      if (is_own) {  // A value that no field has.
        raw.status = DCGM_ST_VER_MISMATCH;
      }
    });
  }
  add("values of other devices", [](dcgmFieldValue_v2& raw) { raw.entityId += 1000; });
  add("values of other fields", [](dcgmFieldValue_v2& raw) { raw.fieldId ^= 0x4000U; });
  add("negative numbers", [](dcgmFieldValue_v2& raw) {
    if (raw.fieldType != DCGM_FT_STRING) {
      raw.value.i64 |= INT64_MIN;
    }
  });
}

void AddSentinels(std::string_view symbol, std::vector<FaultColumn>& columns) {
  static constexpr std::array<const char*, 4> kTexts = {
      DCGM_STR_BLANK, DCGM_STR_NOT_FOUND, DCGM_STR_NOT_SUPPORTED, DCGM_STR_NOT_PERMISSIONED};
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const auto word = static_cast<uint32_t>(DCGM_INT32_BLANK) + static_cast<uint32_t>(i);
    FakeFault fault;
    if (TellsValues(symbol)) {
      fault = EachValue([i](dcgmFieldValue_v2& raw) {
        if (raw.fieldType == DCGM_FT_STRING) {
          PutText(raw.value.str, kTexts[i]);
        } else if (raw.fieldType == DCGM_FT_DOUBLE) {
          raw.value.dbl = DCGM_FP64_BLANK + static_cast<double>(i);
        } else {
          raw.value.i64 = DCGM_INT64_BLANK + static_cast<int64_t>(i);
        }
      });
    } else {
      fault = Spoiling([i, word, symbol = std::string(symbol)](Outs outs) {
        for (const FakeOut& out : outs) {
          for (size_t at = 0; at + sizeof word <= out.size; at += sizeof word) {
            PutWord(out, at, word);
          }
        }
        if (symbol == "dcgmGetDeviceAttributes") {
          auto& who = static_cast<dcgmDeviceAttributes_v3*>(outs[0].bytes)->identifiers;
          PutText(who.uuid, kTexts[i]);
          PutText(who.pciBusId, kTexts[i]);
          PutText(who.deviceName, kTexts[i]);
          PutText(who.serial, kTexts[i]);
          PutText(who.vbios, kTexts[i]);
          PutText(who.driverVersion, kTexts[i]);
        }
      });
    }
    columns.push_back({absl::StrFormat("blank %d", i), FaultKind::kSentinel, std::move(fault)});
  }
  if (symbol == "dcgmEntitiesGetLatestValues") {
    columns.push_back(
        {"blank of 32 bits", FaultKind::kSentinel, EachValue([](dcgmFieldValue_v2& raw) {
           if (raw.fieldType == DCGM_FT_INT64) {
             raw.value.i64 = DCGM_INT32_BLANK;
           }
         })});
  }
}

void AddPointers(std::string_view symbol, std::vector<FaultColumn>& columns) {
  const auto add = [&](std::string name, FakeFault fault) {
    columns.push_back({std::move(name), FaultKind::kGarbage, std::move(fault), false});
  };
  if (symbol == kErrorString) {
    static const std::string long_text(100'000, 'w');
    add("null", Pointing<char>(nullptr));
    add("text that is no UTF-8", Pointing("\xff\xfe\n\"\\{}"));
    add("100,000 letters", Pointing(long_text.c_str()));
    add("no letters", Pointing(""));
    return;
  }
  // A library's own tables never change, so the program reads them once and keeps the answer.
  const auto add_for_good = [&](std::string name, FakeFault fault) {
    columns.push_back({std::move(name), FaultKind::kGarbage, std::move(fault), true});
  };
  static const dcgm_field_meta_t other_level = [] {
    dcgm_field_meta_t meta{};
    meta.entityLevel = 77;
    return meta;
  }();
  static const dcgm_field_meta_t other_type = [] {
    dcgm_field_meta_t meta{};
    std::memset(&meta, 'A', sizeof meta);
    meta.entityLevel = DCGM_FE_GPU;
    return meta;
  }();
  add_for_good("null", Pointing<dcgm_field_meta_t>(nullptr));
  add_for_good("a level that is none", Pointing(&other_level));
  add_for_good("a type that is none", Pointing(&other_type));
}

}  // namespace

std::vector<FaultColumn> DcgmColumns(const std::string& symbol) {
  std::vector<FaultColumn> columns;
  AddHangs(symbol, columns);
  columns.push_back({"the engine dies", FaultKind::kVanish, {.kills_engine = true}});
  if (ReturnsPointer(symbol)) {
    AddPointers(symbol, columns);
    return columns;
  }
  AddCodes(columns);
  if (!WritesNothing(symbol)) {
    AddGarbage(symbol, columns);
    AddSentinels(symbol, columns);
    if (TellsValues(symbol)) {
      AddValueGarbage(columns);
    }
  }
  return columns;
}

}  // namespace podgpu
