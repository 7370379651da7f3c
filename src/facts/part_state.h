// The state words of podgpu; there are no others.
//
// Each thread publishes in its facts the state of its part (the driver, the kubelet, the API
// server).  Metrics, log lines, pages and documents use the same words (PartStateName).  Plain
// data.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

enum class PartState : uint8_t { kStarting, kWaiting, kOk, kDegraded, kUnresponsive, kRecovering };
inline constexpr int kPartStateCount = 6;

// Returns "starting", "waiting", "ok", "degraded", "unresponsive" or "recovering".
std::string_view PartStateName(PartState state);

}  // namespace podgpu
