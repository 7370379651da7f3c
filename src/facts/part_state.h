// The state words of podgpu: the only ones there are, and what each means to readers.
//
// Each thread says in its facts in which state its part is (the driver, the kubelet, the API
// server); metric, log, page and document use the same words (PartStateName).  Plain data.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

enum class PartState : uint8_t { kStarting, kWaiting, kOk, kDegraded, kUnresponsive, kRecovering };
inline constexpr int kPartStateCount = 6;

// "starting", "waiting", "ok", "degraded", "unresponsive", "recovering".
std::string_view PartStateName(PartState state);

}  // namespace podgpu
