#include "source/nvml/accounting.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>

#include "source/nvml/error.h"

namespace podgpu {
namespace {

using abi::nvmlReturn_t;

constexpr int kModeOff = 0;
constexpr int kModeOn = 1;
constexpr uint32_t kMostAskedAtOnce =
    256;  // One call per pid; the rest waits for the next reading.
constexpr std::chrono::seconds kAskAgainAfter{60};
constexpr std::chrono::seconds kClockSlack{1};
constexpr uint32_t kMostShare = 100;

Accounting AccountingOf(nvmlReturn_t code, int mode) {
  if (code == abi::NVML_ERROR_NO_PERMISSION) {
    return Accounting::kNotPermitted;
  }
  if (code != abi::NVML_SUCCESS) {
    return IsLacking(code) ? Accounting::kNotSupported : Accounting::kFailed;
  }
  switch (mode) {
    case kModeOff:
      return Accounting::kOff;
    case kModeOn:
      return Accounting::kOn;
    default:
      return Accounting::kFailed;
  }
}

Accounting AskMode(const abi::NvmlTable& api, abi::nvmlDevice_t device, nvmlReturn_t& code) {
  int mode = -1;
  code = api.nvmlDeviceGetAccountingMode == nullptr
             ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
             : api.nvmlDeviceGetAccountingMode(device, &mode);
  return AccountingOf(code, mode);
}

// The record of an ended process, from either version of the call.
template <typename Stats>
EndedProcess EndedOf(uint32_t pid, const Stats& stats, WallTime now) {
  EndedProcess ended{.pid = pid,
                     .sm_percent = std::min(stats.gpuUtilization, kMostShare),
                     .memory_percent = std::min(stats.memoryUtilization, kMostShare)};
  if (stats.maxMemoryUsage != std::numeric_limits<unsigned long long>::max()) {
    ended.memory_bytes = stats.maxMemoryUsage;
  }
  const auto latest_us = static_cast<unsigned long long>(ToMicroseconds(now + kClockSlack));
  if (stats.startTime > 0 && stats.startTime <= latest_us) {
    ended.started_at = WallTime(std::chrono::microseconds(stats.startTime));
  }
  return ended;
}

// Adds the pids of `listed`; `pids` stays ascending, without duplicates.
void AddPids(std::span<const ListedProcess> listed, std::vector<uint32_t>& pids) {
  for (const ListedProcess& process : listed) {
    pids.push_back(process.pid);
  }
  std::ranges::sort(pids);
  pids.erase(std::ranges::unique(pids).begin(), pids.end());
}

}  // namespace

nvmlReturn_t NvmlAccounting::ReadMode(const abi::NvmlTable& api, abi::nvmlDevice_t device,
                                      Instant now) {
  nvmlReturn_t code = abi::NVML_SUCCESS;
  mode_ = AskMode(api, device, code);
  if (mode_ == Accounting::kOff && enable_ && (!refusal_ || now - refused_at_ >= kAskAgainAfter)) {
    SwitchOn(api, device, now);
  }
  if (mode_ == Accounting::kOn) {
    refusal_.reset();
  } else {
    has_history_ = false;
  }
  return MakesPointless(code) ? code : static_cast<nvmlReturn_t>(abi::NVML_SUCCESS);
}

void NvmlAccounting::SwitchOn(const abi::NvmlTable& api, abi::nvmlDevice_t device, Instant now) {
  nvmlReturn_t code = api.nvmlDeviceSetAccountingMode == nullptr
                          ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
                          : api.nvmlDeviceSetAccountingMode(device, kModeOn);
  if (code == abi::NVML_SUCCESS) {
    mode_ = AskMode(api, device, code);
    code = mode_ == Accounting::kOn ? abi::NVML_SUCCESS : abi::NVML_ERROR_UNKNOWN;
  }
  if (code != abi::NVML_SUCCESS) {
    refusal_ = code;
    refused_at_ = now;
  }
}

nvmlReturn_t NvmlAccounting::ReadEnded(const abi::NvmlTable& api, abi::nvmlDevice_t device,
                                       WallTime now, std::span<const ListedProcess> listed,
                                       bool has_list) {
  ended_.clear();
  if (mode_ != Accounting::kOn || api.nvmlDeviceGetAccountingPids == nullptr) {
    return abi::NVML_SUCCESS;
  }
  if (has_list) {
    AddPids(listed, settled_);
  }
  nvmlReturn_t code = FillList(pids_, [&](uint32_t* pids, uint32_t& count) {
    return api.nvmlDeviceGetAccountingPids(device, &count, pids);
  });
  if (code != abi::NVML_SUCCESS || (has_history_ && !has_list)) {
    return MakesPointless(code) ? code : static_cast<nvmlReturn_t>(abi::NVML_SUCCESS);
  }
  // The first reading settles every recorded pid without a question: these records are history.
  // Later, a pid is settled once it was on a list, was reported, or is unknown to the driver; only
  // the others are asked about.
  next_.clear();
  uint32_t asked = 0;
  for (const uint32_t pid : std::span(pids_.entries).first(pids_.count)) {
    bool is_settled = !has_history_ || std::ranges::binary_search(settled_, pid);
    if (!is_settled && code == abi::NVML_SUCCESS && asked < kMostAskedAtOnce) {
      ++asked;
      code = Ask(api, device, pid, now, is_settled);
    }
    if (is_settled) {
      next_.push_back(pid);
    }
  }
  has_history_ = true;
  AddPids(has_list ? listed : std::span<const ListedProcess>(), next_);
  settled_.swap(next_);
  return MakesPointless(code) ? code : static_cast<nvmlReturn_t>(abi::NVML_SUCCESS);
}

nvmlReturn_t NvmlAccounting::Ask(const abi::NvmlTable& api, abi::nvmlDevice_t device, uint32_t pid,
                                 WallTime now, bool& is_settled) {
  const auto take = [&](nvmlReturn_t code, const auto& stats) {
    const bool has_ended = code == abi::NVML_SUCCESS && stats.isRunning == 0;
    if (has_ended) {
      ended_.push_back(EndedOf(pid, stats, now));
    }
    is_settled = has_ended || code == abi::NVML_ERROR_NOT_FOUND;
    return is_settled ? static_cast<nvmlReturn_t>(abi::NVML_SUCCESS) : code;
  };
  if (api.nvmlDeviceGetAccountingStats_v2 != nullptr) {
    abi::nvmlAccountingStats_v2_t stats{};
    stats.pid = pid;
    const nvmlReturn_t code = api.nvmlDeviceGetAccountingStats_v2(device, &stats);
    if (!IsLacking(code)) {
      return take(code, stats);
    }
  }
  if (api.nvmlDeviceGetAccountingStats == nullptr) {
    return abi::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  abi::nvmlAccountingStats_t stats{};
  const nvmlReturn_t code = api.nvmlDeviceGetAccountingStats(device, pid, &stats);
  return take(code, stats);
}

}  // namespace podgpu
