// Compares each row of the catalogue with a digest, so that no row is lost or changed by mistake.
#include <array>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fields/field.h"

namespace podgpu {
namespace {

struct RowDigest {
  uint16_t id;
  uint64_t digest;
};
constexpr RowDigest kDigests[] = {
#include "fields/catalogue_digests.inc"
};

constexpr std::array<std::string_view, 6> kTypeWords = {"none",   "int64", "double",
                                                        "string", "blob",  "timestamp"};
constexpr std::array<std::string_view, 11> kLevelWords = {"none",   "global", "gpu",     "vgpu",
                                                          "switch", "gpu_i",  "gpu_ci",  "link",
                                                          "cpu",    "core",   "connectx"};

// id|names;...|type|level|unit|profiling|tag|nvml field id|since|name since
std::string CanonicalText(const Field& field) {
  std::string text = std::to_string(field.id) + "|" + std::string(field.name);
  for (const std::string_view name : field.other_names) {
    if (!name.empty()) {
      text += ";" + std::string(name);
    }
  }
  for (const std::string_view column :
       {kTypeWords[static_cast<size_t>(field.type)], kLevelWords[static_cast<size_t>(field.level)],
        field.unit, std::string_view(field.profiling ? "1" : "0"), field.tag}) {
    text += "|" + std::string(column);
  }
  return text + "|" + std::to_string(field.nvml_field_id) + "|" + std::string(field.since) + "|" +
         std::string(field.name_since);
}

uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

TEST(Catalogue, ContainsEveryRowUnchanged) {
  ASSERT_EQ(Catalogue().size(), 696U);
  ASSERT_EQ(std::size(kDigests), 696U);
  for (const RowDigest& row : kDigests) {
    const Field* field = FindField(row.id);
    ASSERT_NE(field, nullptr) << "field " << row.id << " is missing";
    EXPECT_EQ(Fnv1a(CanonicalText(*field)), row.digest)
        << "row changed: " << CanonicalText(*field)
        << "; if the change is intended, change its digest";
  }
}

TEST(Catalogue, FindsNothingForUnknownIds) {
  for (const uint16_t id : std::initializer_list<uint16_t>{7, 49, 999, 1651, 65535}) {
    EXPECT_EQ(FindField(id), nullptr) << id;
  }
}

TEST(Catalogue, FindsAFieldByEachOfItsUniqueNames) {
  std::map<std::string_view, int> uses;
  for (const Field& field : Catalogue()) {
    ++uses[field.name];
    EXPECT_EQ(FindFieldByName(field.name), &field) << field.name;
    for (const std::string_view name : field.other_names) {
      if (!name.empty()) {
        ++uses[name];
        EXPECT_EQ(FindFieldByName(name), &field) << name;
      }
    }
  }
  for (const LegacyName& legacy : LegacyNames()) {
    ++uses[legacy.name];
    ASSERT_NE(FindFieldByName(legacy.name), nullptr) << legacy.name;
    EXPECT_EQ(FindFieldByName(legacy.name)->id, legacy.id) << legacy.name;
  }
  for (const auto& [name, count] : uses) {
    EXPECT_EQ(count, 1) << name;
  }
}

TEST(Catalogue, ResolvesOnlyWholeCaseSensitiveNames) {
  for (const std::string_view name :
       {"", "dcgm_fi_dev_gpu_temp", "DCGM_FI_DEV_GPU_TEM", "DCGM_FI_DEV_GPU_TEMPS", "DCGM_GPU_TEMP",
        " DCGM_FI_DEV_GPU_TEMP"}) {
    EXPECT_EQ(FindFieldByName(name), nullptr) << name;
  }
}

TEST(Catalogue, ResolvesTheNamesThatDashboardsUse) {
  struct Case {
    std::string_view name;
    uint16_t id;
  };
  for (const Case& c : std::initializer_list<Case>{{"DCGM_FI_DEV_GPU_TEMP", 150},
                                                   {"DCGM_FI_DEV_POWER_USAGE", 155},
                                                   {"DCGM_FI_DEV_GPU_UTIL", 203},
                                                   {"DCGM_FI_DRIVER_VERSION", 1},
                                                   {"DCGM_FI_UNKNOWN", 0},
                                                   {"DCGM_FI_DEV_XID_ERRORS", 230},
                                                   {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1001},
                                                   {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 112},
                                                   {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", 449},
                                                   {"DCGM_FI_DEV_NVLINK_TX_BANDWIDTH_TOTAL", 843},
                                                   {"DCGM_FI_DEV_NVLINK_RX_BANDWIDTH_TOTAL", 897},
                                                   {"DCGM_FI_DEV_CPU_UTIL_TOTAL", 1100},
                                                   {"DCGM_FI_DEV_CPU_UTIL_RATIO", 1100},
                                                   {"dcgm_gpu_temp", 150},
                                                   {"dcgm_pcie_rx_throughput", 201},
                                                   {"dcgm_fi_prof_pcie_rx_bytes", 1010}}) {
    ASSERT_NE(FindFieldByName(c.name), nullptr) << c.name;
    EXPECT_EQ(FindFieldByName(c.name)->id, c.id) << c.name;
  }
}

TEST(Catalogue, ResolvesTheBandwidthOfEachLinkInLinkOrder) {
  constexpr uint16_t kBandwidth[] = {440, 441, 442, 443, 444, 445, 475, 476, 477,
                                     478, 479, 480, 446, 447, 448, 494, 495, 496};
  for (int link = 0; link < 18; ++link) {
    const std::string suffix = "BANDWIDTH_L" + std::to_string(link);
    const auto id_of = [&](const std::string& prefix) {
      const Field* field = FindFieldByName(prefix + suffix);
      return field == nullptr ? -1 : int{field->id};
    };
    EXPECT_EQ(id_of("DCGM_FI_DEV_NVLINK_"), kBandwidth[link]);
    EXPECT_EQ(id_of("DCGM_FI_DEV_NVLINK_TX_"), 825 + link);
    EXPECT_EQ(id_of("DCGM_FI_DEV_NVLINK_RX_"), 879 + link);
  }
}

TEST(Catalogue, ReturnsScopeAndKindOfKnownFields) {
  EXPECT_EQ(FindField(1)->scope(), FieldScope::kGlobal);
  EXPECT_EQ(FindField(150)->scope(), FieldScope::kEntity);
  EXPECT_EQ(FindField(155)->type, FieldType::kDouble);
  EXPECT_EQ(FindField(156)->unit, "mJ");
  EXPECT_EQ(FindField(252)->level, FieldLevel::kComputeInstance);
  EXPECT_EQ(FindField(150)->tag, "gpu_temp");
  EXPECT_TRUE(FindField(1001)->profiling);
  EXPECT_FALSE(FindField(203)->profiling);
}

}  // namespace
}  // namespace podgpu
