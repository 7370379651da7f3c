#include <algorithm>

#include "fields/field.h"

namespace podgpu {
namespace {

using T = FieldType;
using L = FieldLevel;

#include "fields/catalogue_table.inc"

constexpr bool AscendingIds() {
  return std::ranges::adjacent_find(kFields, [](const Field& a, const Field& b) {
           return a.id >= b.id;
         }) == std::end(kFields);
}
static_assert(AscendingIds());

// dcgm-exporter's names from 1.x; its other legacy names are earlier names of catalogue rows.
constexpr LegacyName kLegacyNames[] = {
    {"dcgm_sm_clock", 100},
    {"dcgm_memory_clock", 101},
    {"dcgm_memory_temp", 140},
    {"dcgm_gpu_temp", 150},
    {"dcgm_power_usage", 155},
    {"dcgm_total_energy_consumption", 156},
    {"dcgm_pcie_tx_throughput", 200},
    {"dcgm_pcie_rx_throughput", 201},
    {"dcgm_pcie_replay_counter", 202},
    {"dcgm_gpu_utilization", 203},
    {"dcgm_mem_copy_utilization", 204},
    {"dcgm_enc_utilization", 206},
    {"dcgm_dec_utilization", 207},
    {"dcgm_xid_errors", 230},
    {"dcgm_power_violation", 240},
    {"dcgm_thermal_violation", 241},
    {"dcgm_sync_boost_violation", 242},
    {"dcgm_board_limit_violation", 243},
    {"dcgm_low_util_violation", 244},
    {"dcgm_reliability_violation", 245},
    {"dcgm_fb_free", 251},
    {"dcgm_fb_used", 252},
    {"dcgm_ecc_sbe_volatile_total", 310},
    {"dcgm_ecc_dbe_volatile_total", 311},
    {"dcgm_ecc_sbe_aggregate_total", 312},
    {"dcgm_ecc_dbe_aggregate_total", 313},
    {"dcgm_retired_pages_sbe", 390},
    {"dcgm_retired_pages_dbe", 391},
    {"dcgm_retired_pages_pending", 392},
    {"dcgm_nvlink_flit_crc_error_count_total", 409},
    {"dcgm_nvlink_data_crc_error_count_total", 419},
    {"dcgm_nvlink_replay_error_count_total", 429},
    {"dcgm_nvlink_recovery_error_count_total", 439},
    {"dcgm_nvlink_bandwidth_total", 449},
    {"dcgm_fi_prof_gr_engine_active", 1001},
    {"dcgm_fi_prof_sm_active", 1002},
    {"dcgm_fi_prof_sm_occupancy", 1003},
    {"dcgm_fi_prof_pipe_tensor_active", 1004},
    {"dcgm_fi_prof_dram_active", 1005},
    {"dcgm_fi_prof_pcie_tx_bytes", 1009},
    {"dcgm_fi_prof_pcie_rx_bytes", 1010},
};

bool IsCalled(const Field& field, std::string_view name) {
  return field.name == name ||
         std::ranges::find(field.other_names, name) != field.other_names.end();
}

}  // namespace

std::span<const Field> Catalogue() { return kFields; }

std::span<const LegacyName> LegacyNames() { return kLegacyNames; }

const Field* FindField(uint16_t id) {
  const auto* found = std::ranges::lower_bound(kFields, id, {}, &Field::id);
  return found != std::end(kFields) && found->id == id ? found : nullptr;
}

const Field* FindFieldByName(std::string_view name) {
  if (name.empty()) {
    return nullptr;
  }
  const auto* found =
      std::ranges::find_if(kFields, [&](const Field& field) { return IsCalled(field, name); });
  if (found != std::end(kFields)) {
    return found;
  }
  const auto* legacy = std::ranges::find(kLegacyNames, name, &LegacyName::name);
  return legacy != std::end(kLegacyNames) ? FindField(legacy->id) : nullptr;
}

}  // namespace podgpu
