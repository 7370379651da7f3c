#include "view/xid.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace podgpu {
namespace {

// In the order of the codes, in dcgm-exporter's words.
constexpr std::array<std::string_view, 173> kXidTexts = {
    "No Error",  // 0
    "Invalid or corrupted push buffer stream",
    "Invalid or corrupted push buffer stream",
    "Invalid or corrupted push buffer stream",
    "Invalid or corrupted push buffer stream",
    "Unused",
    "Invalid or corrupted push buffer stream",
    "Invalid or corrupted push buffer address",
    "GPU stopped processing",
    "Driver error programming GPU",
    "Unused",  // 10
    "Invalid or corrupted push buffer stream",
    "Driver error handling GPU exception",
    "Graphics Engine Exception",
    "Unused",
    "Unused",
    "Display engine hung",
    "Unused",
    "Bus mastering disabled in PCI Config Space",
    "Display Engine error",
    "Invalid or corrupted Mpeg push buffer",  // 20
    "Invalid or corrupted Motion Estimation push buffer",
    "Invalid or corrupted Video Processor push buffer",
    "Unused",
    "GPU semaphore timeout",
    "Invalid or illegal push buffer stream",
    "Framebuffer timeout",
    "Video processor exception",
    "Video processor exception",
    "Video processor exception",
    "GPU semaphore access error",  // 30
    "GPU memory page fault",
    "Invalid or corrupted push buffer stream",
    "Internal micro-controller error",
    "Video processor exception",
    "Video processor exception",
    "Video processor exception",
    "Driver firmware error",
    "Driver firmware error",
    "Unused",
    "Unused",  // 40
    "Unused",
    "Video processor exception",
    "GPU stopped processing",
    "Graphics Engine fault during context switch",
    "Preemptive cleanup, due to previous errors -- Most likely to see when running multiple cuda",
    "GPU stopped processing",
    "Video processor exception",
    "Double Bit ECC Error",
    "Unused",
    "Unused",  // 50
    "Unused",
    "Unused",
    "Unused",
    "Auxiliary power is not connected to the GPU board",
    "Unused",
    "Display Engine error",
    "Error programming video memory interface",
    "Unstable video memory interface detected",
    "Internal micro-controller error",
    "Video processor exception",  // 60
    "Internal micro-controller breakpoint/warning",
    "Internal micro-controller halt",
    "ECC page retirement or row remapping recording event",
    "ECC page retirement or row remapper recording failure",
    "Video processor exception",
    "Illegal access by driver",
    "Illegal access by driver",
    "NVDEC0 Exception",
    "Graphics Engine class error",
    "CE3: Unknown Error",  // 70
    "CE4: Unknown Error",
    "CE5: Unknown Error",
    "NVENC2 Error",
    "NVLINK Error",
    "CE6: Unknown Error",
    "CE7: Unknown Error",
    "CE8: Unknown Error",
    "vGPU Start Error",
    "GPU has fallen off the bus",
    "Corrupted data sent to GPU",  // 80
    "VGA Subsystem Error",
    "NVJPG0 Error",
    "NVDEC1 Error",
    "NVDEC2 Error",
    "CE9: Unknown Error",
    "OFA Exception",
    "Reserved",
    "NVDEC3 Error",
    "NVDEC4 Error",
    "Reserved",  // 90
    "Reserved",
    "High single-bit ECC error rate",
    "Non-fatal violation of provisioned InfoROM wear limit",
    "Contained ECC error",
    "Uncontained ECC error",
    "NVDEC5 Error",
    "NVDEC6 Error",
    "NVDEC7 Error",
    "NVJPG1 Error",
    "NVJPG2 Error",  // 100
    "NVJPG3 Error",
    "NVJPG4 Error",
    "NVJPG5 Error",
    "NVJPG6 Error",
    "NVJPG7 Error",
    "SMBPBI Test Message",
    "SMBPBI Test Message Silent",
    "Reserved",
    "Context Switch Timeout Error",
    "Security Fault Error",  // 110
    "Display Bundle Error Event",
    "Display Supervisor Error",
    "DP Link Training Error",
    "Display Pipeline Underflow Error",
    "Display Core Channel Error",
    "Display Window Channel Error",
    "Display Cursor Channel Error",
    "Display Pixel Pipeline Error",
    "GSP RPC Timeout",
    "GSP Error",  // 120
    "C2C Link Error",
    "SPI PMU RPC Read Failure",
    "SPI PMU RPC Write Failure",
    "SPI PMU RPC Erase Failure",
    "Inforom FS Failure",
    "Robust Channel CE10 Error",
    "Robust Channel CE11 Error",
    "Robust Channel CE12 Error",
    "Robust Channel CE13 Error",
    "Robust Channel CE14 Error",  // 130
    "Robust Channel CE15 Error",
    "Robust Channel CE16 Error",
    "Robust Channel CE17 Error",
    "Robust Channel CE18 Error",
    "Robust Channel CE19 Error",
    "ALI Training Fail",
    "NVLink Privilege Error",
    "Robust Channel DLA Error",
    "Robust Channel OFA1 Error",
    "Unrecovered ECC Error",  // 140
    "Robust Channel Fast Path Error",
    "Robust Channel NVENVC3 Error",
    "GPU Initialization Failure",
    "NVLINK: Saw Error",
    "NVLINK: RLW Error",
    "NVLINK: TLW Error",
    "NVLINK: TREX Error",
    "NVLINK: NVLPW_CTRL Error",
    "NVLINK: NETIR Error",
    "NVLINK: MSE Error",  // 150
    "Robust Channel Key rotation Error",
    "Robust Channel DLA SMMU Error",
    "Robust Channel DLA timeout Error",
    "GPU Recovery Action Changed",
    "NVLINK: SW Defined Error",
    "Resource Retirement Event",
    "Resource Retirement Failure",
    "GPU Fatal Timeout",
    "Robust Channel CHI Non-Data Error",
    "Channel Retirement Event",  // 160
    "Channel Retirement Failure",
    "Power Smoothing HW Circuitry Reengaged",
    "Power Smoothing HW Circuitry Disengaged",
    "Power Smoothing HW Circuitry Low Lifetime",
    "Power Smoothing HW Circuitry Lifetime Exhausted",
    "NVLINK Secure Crypto Error",
    "PCIE Fatal Timeout",
    "Reduced GPU Memory Capacity (Errors found in write protection region)",
    "Internal micro-controller halt",
    "NVLINK: Interrupt seen in CC mode",  // 170
    "Uncorrectable DRAM Error",
    "Uncorrectable SRAM Error",
};

struct XidActionRow {
  int64_t first, last;
  std::string_view action;
};

// Ascending.  Codes outside the table get "investigate".  The source is NVIDIA's catalogue of XIDs
// for Ampere and newer (docs.nvidia.com/deploy/xid-errors, column "immediate action", read
// 2026-11). "Ignore" is none here; "restart VM" and "restart machine" are reboot_node.  If the
// catalogue has a workflow instead of an action, the table has the action that its text recommends:
// a reset for 48 and 74. 43 and 45 need nothing for the GPU, but a program has ended because of
// them.
constexpr std::string_view kNone = "none";
constexpr std::string_view kApp = "restart_app";
constexpr std::string_view kReset = "reset_gpu";
constexpr std::string_view kReboot = "reboot_node";
constexpr XidActionRow kXidActions[] = {
    {8, 8, kApp},        {11, 11, kApp},     {13, 13, kApp},     {14, 14, kNone},
    {25, 25, kApp},      {31, 32, kApp},     {37, 38, kNone},    {39, 41, kApp},
    {43, 43, kApp},      {44, 44, kNone},    {45, 45, kApp},     {46, 46, kReset},
    {48, 48, kReset},    {60, 60, kApp},     {62, 62, kReset},   {63, 63, kNone},
    {64, 64, kReset},    {66, 67, kNone},    {68, 72, kApp},     {74, 74, kReset},
    {75, 77, kApp},      {79, 79, kReboot},  {80, 80, kApp},     {82, 86, kApp},
    {88, 89, kApp},      {92, 93, kNone},    {94, 94, kApp},     {95, 95, kReset},
    {96, 105, kApp},     {106, 108, kNone},  {109, 110, kReset}, {119, 120, kReset},
    {121, 121, kNone},   {126, 135, kApp},   {136, 136, kReset}, {137, 137, kNone},
    {139, 139, kApp},    {140, 140, kReset}, {141, 141, kNone},  {143, 143, kReset},
    {151, 151, kReboot}, {152, 153, kNone},  {155, 156, kReset}, {157, 157, kNone},
    {158, 158, kReset},  {160, 161, kNone},
};

}  // namespace

std::string_view XidText(int64_t code) {
  return code >= 0 && code < int64_t{kXidTexts.size()} ? kXidTexts[static_cast<size_t>(code)]
                                                       : "Unknown Error";
}

std::string_view XidAction(int64_t code) {
  const auto found = std::ranges::lower_bound(kXidActions, code, {}, &XidActionRow::last);
  return found == std::end(kXidActions) || code < found->first ? "investigate" : found->action;
}

}  // namespace podgpu
