// tidy: table
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

// The same bytes as deploy/default-counters.csv.
constexpr std::string_view kDefaultCounters =
    R"csv(# The metrics that podgpu serves under DCGM's names when no other file is given.
# One per line: field, Prometheus type, help text.  A line that begins with # is off.
# A field of type "label" becomes a label on every series of its device.
# A help text that contains a comma stands in double quotes, directly after the comma.

# Clocks
DCGM_FI_DEV_SM_CLOCK,  gauge, Streaming multiprocessor clock (in MHz).
DCGM_FI_DEV_MEM_CLOCK, gauge, Memory clock (in MHz).

# Temperature
DCGM_FI_DEV_MEMORY_TEMP, gauge, Memory temperature (in C).
DCGM_FI_DEV_GPU_TEMP,    gauge, GPU temperature (in C).

# Power and energy
DCGM_FI_DEV_POWER_USAGE,              gauge,   Board power draw (in W).
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, Board energy since the driver was loaded (in mJ).

# PCIe
DCGM_FI_DEV_PCIE_REPLAY_COUNTER, counter, PCIe packets sent again.

# Utilisation: the share of time in which any work was resident, not how much of the GPU it used
DCGM_FI_DEV_GPU_UTIL,      gauge, Time with a kernel resident (in %).
DCGM_FI_DEV_MEM_COPY_UTIL, gauge, Time with memory being read or written (in %).
DCGM_FI_DEV_ENC_UTIL,      gauge, Video encoder utilisation (in %).
DCGM_FI_DEV_DEC_UTIL,      gauge, Video decoder utilisation (in %).

# Faults and violations
DCGM_FI_DEV_XID_ERRORS,              gauge,   Code of the last XID.
# DCGM_FI_DEV_POWER_VIOLATION,       counter, Time throttled by the power limit (in ns).
# DCGM_FI_DEV_THERMAL_VIOLATION,     counter, Time throttled by temperature (in ns).
# DCGM_FI_DEV_SYNC_BOOST_VIOLATION,  counter, Time throttled by sync boost (in ns).
# DCGM_FI_DEV_BOARD_LIMIT_VIOLATION, counter, Time throttled by the board limit (in ns).
# DCGM_FI_DEV_LOW_UTIL_VIOLATION,    counter, Time throttled by low utilisation (in ns).
# DCGM_FI_DEV_RELIABILITY_VIOLATION, counter, Time throttled by the reliability limit (in ns).

# Memory
DCGM_FI_DEV_FB_FREE,     gauge, Framebuffer memory free (in MiB).
DCGM_FI_DEV_FB_USED,     gauge, Framebuffer memory used (in MiB).
DCGM_FI_DEV_FB_RESERVED, gauge, Framebuffer memory reserved by the driver (in MiB).

# ECC
# DCGM_FI_DEV_ECC_SBE_VOL_TOTAL, counter, Single-bit errors since the driver was loaded.
# DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, counter, Double-bit errors since the driver was loaded.
# DCGM_FI_DEV_ECC_SBE_AGG_TOTAL, counter, Single-bit errors in the life of the board.
# DCGM_FI_DEV_ECC_DBE_AGG_TOTAL, counter, Double-bit errors in the life of the board.

# Retired pages
# DCGM_FI_DEV_RETIRED_SBE,     counter, Pages retired because of single-bit errors.
# DCGM_FI_DEV_RETIRED_DBE,     counter, Pages retired because of double-bit errors.
# DCGM_FI_DEV_RETIRED_PENDING, counter, Pages waiting to be retired.

# Remapped rows
DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS, counter, Rows remapped because of uncorrectable errors.
DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS,   counter, Rows remapped because of correctable errors.
DCGM_FI_DEV_ROW_REMAP_FAILURE,           gauge,   Whether remapping a row has failed.

# NVLink
# DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL, counter, NVLink flow-control CRC errors.
# DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL, counter, NVLink data CRC errors.
# DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,   counter, NVLink replays.
# DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL, counter, NVLink recoveries.
# DCGM_FI_DEV_NVLINK_BANDWIDTH_L0,               counter, Bandwidth of NVLink 0 (in MB/s).
DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL,              counter, Bandwidth of all NVLinks (in MB/s).

# vGPU
DCGM_FI_DEV_VGPU_LICENSE_STATUS, gauge, Whether the vGPU licence is valid.

# Facts as labels
DCGM_FI_DRIVER_VERSION,          label, Driver version.
# DCGM_FI_NVML_VERSION,          label, NVML version.
# DCGM_FI_DEV_BRAND,             label, Brand.
# DCGM_FI_DEV_SERIAL,            label, Serial number.
# DCGM_FI_DEV_OEM_INFOROM_VER,   label, OEM inforom version.
# DCGM_FI_DEV_ECC_INFOROM_VER,   label, ECC inforom version.
# DCGM_FI_DEV_POWER_INFOROM_VER, label, Power inforom version.
# DCGM_FI_DEV_INFOROM_IMAGE_VER, label, Inforom image version.
# DCGM_FI_DEV_VBIOS_VERSION,     label, VBIOS version.

# Profiling: how much of the GPU the work used
DCGM_FI_PROF_GR_ENGINE_ACTIVE,   gauge,   Time with the graphics or compute engine active (ratio).
# DCGM_FI_PROF_SM_ACTIVE,        gauge,   Time with a warp resident on a multiprocessor (ratio).
# DCGM_FI_PROF_SM_OCCUPANCY,     gauge,   Warps resident of those possible (ratio).
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE, gauge,   Time with the tensor pipe active (ratio).
DCGM_FI_PROF_DRAM_ACTIVE,        gauge,   Time with device memory active (ratio).
# DCGM_FI_PROF_PIPE_FP64_ACTIVE, gauge,   Time with the FP64 pipe active (ratio).
# DCGM_FI_PROF_PIPE_FP32_ACTIVE, gauge,   Time with the FP32 pipe active (ratio).
# DCGM_FI_PROF_PIPE_FP16_ACTIVE, gauge,   Time with the FP16 pipe active (ratio).
# DCGM_FI_PROF_PCIE_TX_BYTES,    counter, Bytes sent over PCIe.
# DCGM_FI_PROF_PCIE_RX_BYTES,    counter, Bytes received over PCIe.
DCGM_FI_PROF_PCIE_TX_BYTES,      gauge,   Rate of bytes sent over PCIe (in B/s).
DCGM_FI_PROF_PCIE_RX_BYTES,      gauge,   Rate of bytes received over PCIe (in B/s).

# Counters of the exporter itself
# DCGM_EXP_XID_ERRORS_COUNT,   gauge, XIDs in the last window.
# DCGM_EXP_CLOCK_EVENTS_COUNT, gauge, Clock events in the last window.
# DCGM_EXP_GPU_HEALTH_STATUS,  gauge, Health of the GPU by watch.
# DCGM_EXP_P2P_STATUS,         gauge, Peer-to-peer state of each pair of GPUs.
)csv";

}  // namespace

std::string_view DefaultCountersCsv() { return kDefaultCounters; }

}  // namespace podgpu
