#include <optional>
#include <string>

#include "fields/field_ids.h"
#include "view/view.h"

namespace podgpu {
namespace {

struct LegacyMetric {
  uint16_t field_id;
  std::string_view name, type, help;
};

// Names, types, help texts and order are those of dcgm-exporter 1.x.  Numbers that are not integers
// have three decimals, because that exporter copies the output of "dcgmi dmon".  If DCGM's unit
// differs from the one in the help text, ScaleOf converts it.
constexpr LegacyMetric kLegacyMetrics[] = {
    {100, "dcgm_sm_clock", "gauge", "SM clock frequency (in MHz)."},
    {101, "dcgm_memory_clock", "gauge", "Memory clock frequency (in MHz)."},
    {140, "dcgm_memory_temp", "gauge", "Memory temperature (in C)."},
    {150, "dcgm_gpu_temp", "gauge", "GPU temperature (in C)."},
    {155, "dcgm_power_usage", "gauge", "Power draw (in W)."},
    {156, "dcgm_total_energy_consumption", "counter",
     "Total energy consumption since boot (in mJ)."},
    {200, "dcgm_pcie_tx_throughput", "counter",
     "Total number of bytes transmitted through PCIe TX (in KB) via NVML."},
    {201, "dcgm_pcie_rx_throughput", "counter",
     "Total number of bytes received through PCIe RX (in KB) via NVML."},
    {202, "dcgm_pcie_replay_counter", "counter", "Total number of PCIe retries."},
    {203, "dcgm_gpu_utilization", "gauge", "GPU utilization (in %)."},
    {204, "dcgm_mem_copy_utilization", "gauge", "Memory utilization (in %)."},
    {206, "dcgm_enc_utilization", "gauge", "Encoder utilization (in %)."},
    {207, "dcgm_dec_utilization", "gauge", "Decoder utilization (in %)."},
    {230, "dcgm_xid_errors", "gauge", "Value of the last XID error encountered."},
    {240, "dcgm_power_violation", "counter",
     "Throttling duration due to power constraints (in us)."},
    {241, "dcgm_thermal_violation", "counter",
     "Throttling duration due to thermal constraints (in us)."},
    {242, "dcgm_sync_boost_violation", "counter",
     "Throttling duration due to sync-boost constraints (in us)."},
    {243, "dcgm_board_limit_violation", "counter",
     "Throttling duration due to board limit constraints (in us)."},
    {244, "dcgm_low_util_violation", "counter",
     "Throttling duration due to low utilization (in us)."},
    {245, "dcgm_reliability_violation", "counter",
     "Throttling duration due to reliability constraints (in us)."},
    {251, "dcgm_fb_free", "gauge", "Framebuffer memory free (in MiB)."},
    {252, "dcgm_fb_used", "gauge", "Framebuffer memory used (in MiB)."},
    {310, "dcgm_ecc_sbe_volatile_total", "counter",
     "Total number of single-bit volatile ECC errors."},
    {311, "dcgm_ecc_dbe_volatile_total", "counter",
     "Total number of double-bit volatile ECC errors."},
    {312, "dcgm_ecc_sbe_aggregate_total", "counter",
     "Total number of single-bit persistent ECC errors."},
    {313, "dcgm_ecc_dbe_aggregate_total", "counter",
     "Total number of double-bit persistent ECC errors."},
    {390, "dcgm_retired_pages_sbe", "counter",
     "Total number of retired pages due to single-bit errors."},
    {391, "dcgm_retired_pages_dbe", "counter",
     "Total number of retired pages due to double-bit errors."},
    {392, "dcgm_retired_pages_pending", "counter", "Total number of pages pending retirement."},
    {409, "dcgm_nvlink_flit_crc_error_count_total", "counter",
     "Total number of NVLink flow-control CRC errors."},
    {419, "dcgm_nvlink_data_crc_error_count_total", "counter",
     "Total number of NVLink data CRC errors."},
    {429, "dcgm_nvlink_replay_error_count_total", "counter", "Total number of NVLink retries."},
    {439, "dcgm_nvlink_recovery_error_count_total", "counter",
     "Total number of NVLink recovery errors."},
    {449, "dcgm_nvlink_bandwidth_total", "counter",
     "Total number of NVLink bandwidth counters for all lanes"},
    {1001, "dcgm_fi_prof_gr_engine_active", "gauge",
     "Ratio of time the graphics engine is active (in %)."},
    {1002, "dcgm_fi_prof_sm_active", "gauge",
     "The ratio of cycles an SM has at least 1 warp assigned (in %)."},
    {1003, "dcgm_fi_prof_sm_occupancy", "gauge",
     "The ratio of number of warps resident on an SM (in %)."},
    {1004, "dcgm_fi_prof_pipe_tensor_active", "gauge",
     "Ratio of cycles the tensor (HMMA) pipe is active (in %)."},
    {1005, "dcgm_fi_prof_dram_active", "gauge",
     "Ratio of cycles the device memory interface is active sending or receiving data (in %)."},
};

// The 1.x exporter's throttling times are in microseconds; newer DCGM releases report nanoseconds.
double ScaleOf(const Field& field) {
  constexpr double kMicrosecondsPerNanosecond = 1e-3;
  return field.unit == "ns" ? kMicrosecondsPerNanosecond : 1.0;
}

// Returns the labels in alphabetical order, as in the exporter's own documentation.
std::vector<Label> LabelsOf(const Gpu& gpu, const Owner* owner) {
  std::vector<Label> labels;
  if (owner != nullptr) {
    labels.push_back({"container_name", owner->container});
  }
  labels.push_back({"gpu", std::to_string(gpu.gpu_id)});
  if (owner != nullptr) {
    labels.push_back({"pod_name", owner->pod});
    labels.push_back({"pod_namespace", owner->pod_namespace});
  }
  labels.push_back({"uuid", gpu.uuid});
  return labels;
}

struct LegacyRow {
  EntityId entity;
  uint32_t labels = 0;
};

std::vector<LegacyRow> RowsOf(const ViewInput& input, bool with_pods, PlanBuilder& plan) {
  std::vector<LegacyRow> rows;
  const Topology& topology = input.grid.topology();
  const auto count = static_cast<uint16_t>(topology.entities.size());
  for (uint16_t i = 0; i < count; ++i) {
    if (topology.entities[i].kind == EntityKind::kGpu) {
      const bool known = with_pods && i < input.owners.by_entity.size();
      const Owner* owner = known ? SoleOwner(input.owners.by_entity[i]) : nullptr;
      rows.push_back({EntityId{i},
                      plan.AddLabels(RenderLabels(LabelsOf(topology.GpuOf(EntityId{i}), owner)))});
    }
  }
  return rows;
}

}  // namespace

void AddLegacyView(const ViewInput& input, bool with_pods, PlanBuilder& plan) {
  plan.CountCellsIn(input.grid);
  const std::vector<LegacyRow> rows = RowsOf(input, with_pods, plan);
  for (const LegacyMetric& metric : kLegacyMetrics) {
    const std::optional<FieldRow> field = input.grid.RowOf(metric.field_id);
    if (!field) {
      continue;
    }
    plan.BeginFamily({.name = std::string(metric.name),
                      .help = std::string(metric.help),
                      .type = std::string(metric.type),
                      .unit = "",
                      .format = NumberFormat::kMilli,
                      .scale = ScaleOf(*input.grid.fields()[field->index])});
    for (const LegacyRow& row : rows) {
      plan.AddSeries(row.labels, NumberSource::Cell(input.grid.CellIndex(*field, row.entity)));
    }
  }
}

std::vector<uint16_t> LegacyFieldIds(bool profiling) {
  std::vector<uint16_t> ids;
  for (const LegacyMetric& metric : kLegacyMetrics) {
    if (profiling || metric.field_id < field_ids::kFirstProfiling) {
      ids.push_back(metric.field_id);
    }
  }
  return ids;
}

}  // namespace podgpu
