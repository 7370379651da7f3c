// The members of NodeStatus as tables: for each struct, its JSON keys, where each value stands, and
// what values are valid.
//
// Writer (node_status.cc) and parser (read_node_status.cc) both walk these tables, so they always
// agree.  A member that is not `required` is written only if it differs from its empty value, and
// its absence gives that value back.  docs/api.md describes the keys.  Private to this room.
#pragma once

#include <string_view>
#include <tuple>

#include "report/node_status.h"

namespace podgpu {

// Limits that the parser enforces.
inline constexpr size_t kMostStatusGpus = 256;
inline constexpr size_t kMostStatusInstances = 64;  // Limit per GPU.
inline constexpr size_t kMostStatusRows = 8'192;    // Pods, processes and other lists.
inline constexpr size_t kMostStatusSamples = 300;   // Limit per GPU.
inline constexpr size_t kMostStatusTextBytes = 2'048;

// The values that a member may have, by its unit.
struct MemberRange {
  double most = 1e15;
  int decimals = 0;                  // Decimals of a number that is not whole.
  size_t members = kMostStatusRows;  // Most members of a list.
};
inline constexpr MemberRange kRatioRange{.most = 1.05, .decimals = 4};
inline constexpr MemberRange kCpuRange{.most = 1e6, .decimals = 6};
inline constexpr MemberRange kSecondsRange{.most = 1e9, .decimals = 6};
inline constexpr MemberRange kWattsRange{.most = 1e9, .decimals = 2};
inline constexpr MemberRange kJoulesRange{.most = 1e15, .decimals = 2};
inline constexpr MemberRange kCelsiusRange{.most = 1e4, .decimals = 1};
inline constexpr MemberRange kMegahertzRange{.most = 1e6, .decimals = 0};
inline constexpr MemberRange kGpuListRange{.members = kMostStatusGpus};
inline constexpr MemberRange kInstanceListRange{.members = kMostStatusInstances};
inline constexpr MemberRange kSampleListRange{.members = kMostStatusSamples};

enum class Presence { kOptional, kRequired };

template <typename Struct, typename Type>
struct Member {
  std::string_view key;  // Empty: the members of this struct stand directly in the outer object.
  Type Struct::*at;
  Presence presence = Presence::kOptional;
  MemberRange range = {};
};
template <typename Struct, typename Type>
Member(std::string_view, Type Struct::*) -> Member<Struct, Type>;
template <typename Struct, typename Type>
Member(std::string_view, Type Struct::*, Presence) -> Member<Struct, Type>;
template <typename Struct, typename Type>
Member(std::string_view, Type Struct::*, Presence, MemberRange) -> Member<Struct, Type>;

// The table of a struct: a tuple of Member.
template <typename Struct>
inline constexpr auto kStatusMembers = std::tuple();

inline constexpr auto kOptional = Presence::kOptional;
inline constexpr auto kRequired = Presence::kRequired;

template <>
inline constexpr auto kStatusMembers<StatusHolder> = std::tuple(
    Member{"namespace", &StatusHolder::pod_namespace, kRequired},
    Member{"pod", &StatusHolder::pod, kRequired}, Member{"container", &StatusHolder::container});

template <>
inline constexpr auto kStatusMembers<StatusUse> = std::tuple(
    Member{"sm_ratio", &StatusUse::sm_ratio, kOptional, kRatioRange},
    Member{"memory_bytes", &StatusUse::memory_bytes},
    Member{"power_watts", &StatusUse::power_watts, kOptional, kWattsRange},
    Member{"energy_joules", &StatusUse::energy_joules, kOptional, kJoulesRange},
    Member{"apportioned", &StatusUse::is_apportioned}, Member{"method", &StatusUse::method});

template <>
inline constexpr auto kStatusMembers<StatusShare> =
    std::tuple(Member{"holder", &StatusShare::holder}, Member{"", &StatusShare::use},
               Member{"idle_since_ms", &StatusShare::idle_since_ms});

template <>
inline constexpr auto kStatusMembers<StatusInstance> =
    std::tuple(Member{"gpu_instance_id", &StatusInstance::gpu_instance_id, kRequired},
               Member{"profile", &StatusInstance::profile},
               Member{"sm_ratio", &StatusInstance::sm_ratio, kOptional, kRatioRange},
               Member{"memory_used_bytes", &StatusInstance::memory_used_bytes},
               Member{"memory_total_bytes", &StatusInstance::memory_total_bytes},
               Member{"holders", &StatusInstance::holders},
               Member{"hidden_holders", &StatusInstance::hidden_holders});

template <>
inline constexpr auto kStatusMembers<StatusGpu> = std::tuple(
    Member{"gpu", &StatusGpu::index, kRequired}, Member{"state", &StatusGpu::state, kRequired},
    Member{"uuid", &StatusGpu::uuid, kRequired}, Member{"model", &StatusGpu::model, kRequired},
    Member{"pci_bus_id", &StatusGpu::pci_bus_id, kRequired},
    Member{"owners", &StatusGpu::owners, kRequired}, Member{"since_ms", &StatusGpu::since_ms},
    Member{"holders", &StatusGpu::holders}, Member{"hidden_holders", &StatusGpu::hidden_holders},
    Member{"utilization_ratio", &StatusGpu::utilization_ratio, kOptional, kRatioRange},
    Member{"sm_active_ratio", &StatusGpu::sm_active_ratio, kOptional, kRatioRange},
    Member{"tensor_active_ratio", &StatusGpu::tensor_active_ratio, kOptional, kRatioRange},
    Member{"dram_active_ratio", &StatusGpu::dram_active_ratio, kOptional, kRatioRange},
    Member{"memory_used_bytes", &StatusGpu::memory_used_bytes},
    Member{"memory_total_bytes", &StatusGpu::memory_total_bytes},
    Member{"temperature_celsius", &StatusGpu::temperature_celsius, kOptional, kCelsiusRange},
    Member{"slowdown_celsius", &StatusGpu::slowdown_celsius, kOptional, kCelsiusRange},
    Member{"power_watts", &StatusGpu::power_watts, kOptional, kWattsRange},
    Member{"power_limit_watts", &StatusGpu::power_limit_watts, kOptional, kWattsRange},
    Member{"energy_joules", &StatusGpu::energy_joules, kOptional, kJoulesRange},
    Member{"sm_clock_mhz", &StatusGpu::sm_clock_mhz, kOptional, kMegahertzRange},
    Member{"throttle_reasons", &StatusGpu::throttle_reasons, kOptional, kInstanceListRange},
    Member{"idle_since_ms", &StatusGpu::idle_since_ms},
    Member{"idle_for_longer", &StatusGpu::idle_for_longer}, Member{"shares", &StatusGpu::shares},
    Member{"instances", &StatusGpu::instances, kOptional, kInstanceListRange});

template <>
inline constexpr auto kStatusMembers<StatusPod> =
    std::tuple(Member{"namespace", &StatusPod::pod_namespace}, Member{"pod", &StatusPod::pod},
               Member{"gpus", &StatusPod::gpus, kOptional, kGpuListRange},
               Member{"", &StatusPod::use}, Member{"idle_since_ms", &StatusPod::idle_since_ms});

template <>
inline constexpr auto kStatusMembers<StatusProcess> =
    std::tuple(Member{"pid", &StatusProcess::pid, kRequired},
               Member{"gpu", &StatusProcess::gpu, kRequired}, Member{"type", &StatusProcess::type},
               Member{"name", &StatusProcess::name}, Member{"holder", &StatusProcess::holder},
               Member{"", &StatusProcess::use}, Member{"started_ms", &StatusProcess::started_ms});

template <>
inline constexpr auto kStatusMembers<StatusFault> =
    std::tuple(Member{"state", &StatusFault::state, kRequired}, Member{"gpu", &StatusFault::gpu},
               Member{"text", &StatusFault::text, kRequired},
               Member{"remedy", &StatusFault::remedy}, Member{"explain", &StatusFault::explain});

template <>
inline constexpr auto kStatusMembers<StatusMissing> = std::tuple(
    Member{"what", &StatusMissing::what, kRequired}, Member{"gpus", &StatusMissing::gpus},
    Member{"reason", &StatusMissing::reason, kRequired},
    Member{"explain", &StatusMissing::explain});

template <>
inline constexpr auto kStatusMembers<StatusPart> = std::tuple(
    Member{"part", &StatusPart::part, kRequired}, Member{"state", &StatusPart::state, kRequired},
    Member{"detail", &StatusPart::detail, kRequired});

template <>
inline constexpr auto kStatusMembers<StatusSelf> =
    std::tuple(Member{"resident_bytes", &StatusSelf::resident_bytes},
               Member{"cpu_ratio", &StatusSelf::cpu_ratio, kOptional, kCpuRange},
               Member{"series", &StatusSelf::series, kRequired},
               Member{"slowest_scrape_seconds", &StatusSelf::slowest_scrape_seconds, kOptional,
                      kSecondsRange});

template <>
inline constexpr auto kStatusMembers<StatusHistory> =
    std::tuple(Member{"gpu", &StatusHistory::gpu, kRequired},
               Member{"sm", &StatusHistory::sm, kRequired, kSampleListRange},
               Member{"utilization", &StatusHistory::utilization, kOptional, kSampleListRange},
               Member{"memory", &StatusHistory::memory, kRequired, kSampleListRange},
               Member{"power", &StatusHistory::power, kRequired, kSampleListRange});

// "schema" stands before these.
template <>
inline constexpr auto kStatusMembers<NodeStatus> = std::tuple(
    Member{"version", &NodeStatus::version, kRequired},
    Member{"node", &NodeStatus::node, kRequired}, Member{"source", &NodeStatus::source},
    Member{"driver_version", &NodeStatus::driver_version},
    Member{"ready", &NodeStatus::ready, kRequired},
    Member{"verdict", &NodeStatus::verdict, kRequired},
    Member{"owners_known", &NodeStatus::owners_known, kRequired},
    Member{"sampled_at_ms", &NodeStatus::sampled_at_ms},
    Member{"interval_ms", &NodeStatus::interval_ms, kRequired},
    Member{"stale_after_ms", &NodeStatus::stale_after_ms, kRequired},
    Member{"parts", &NodeStatus::parts, kRequired}, Member{"faults", &NodeStatus::faults},
    Member{"devices", &NodeStatus::gpus, kRequired, kGpuListRange},
    Member{"pods", &NodeStatus::pods}, Member{"processes", &NodeStatus::processes},
    Member{"missing", &NodeStatus::missing}, Member{"self", &NodeStatus::self, kRequired},
    Member{"history_step_ms", &NodeStatus::history_step_ms},
    Member{"history", &NodeStatus::history, kOptional, kGpuListRange});

// True for a member whose type is a struct with a table of its own.
template <typename Type>
concept StatusStruct = std::tuple_size_v<decltype(kStatusMembers<Type>)> > 0;

}  // namespace podgpu
