#include "sim/scenario/fault_table.h"

#include <algorithm>

namespace podgpu::sim {

namespace {

using Words = std::string_view;
using Form = FaultKeyForm;
using Number = FaultNumber;

constexpr std::array<Words, 4> kReasons = {"no_value", "not_found", "not_supported",
                                           "not_permitted"};
constexpr std::array<Words, 2> kEccErrors = {"sbe", "dbe"};
constexpr std::array<Words, 8> kEccLocations = {"device",  "l1",     "l2",  "register",
                                                "texture", "shared", "cbu", "sram"};
constexpr std::array<Words, 2> kGarbageForms = {"http2", "message"};
constexpr std::array<Words, 2> kAbsences = {"gone", "refuses"};
constexpr std::array<Words, 2> kTargets = {"call", "value"};
constexpr std::array<Words, 4> kThrottleReasons = {"power", "thermal", "hw", "brake"};
constexpr std::array<Words, 2> kModes = {"disabled", "enabled"};
constexpr std::array<Words, 2> kFlags = {"false", "true"};

constexpr int64_t kMany = 1'000'000'000;
constexpr int64_t kHugeReplyBytes = 16 << 20;
constexpr int64_t kKubeletSyncUs = 1'000'000;  // Seen on kubelets 1.31, 1.34 and 1.37.

// Ascending by name.  Bounds of a duration or size are the reader's own.
constexpr auto kFaultKeys = std::to_array<FaultKey>({
    {"ambient_c", "C", Form::kMillionths, Number::kAmbientMillic, kNotGiven, 0, 100},
    {"calls", "GLOB,...", Form::kCalls},
    {"code", "CODE", Form::kInteger, Number::kCode, kNotGiven, -128, 999},
    {"count", "N", Form::kInteger, Number::kCount, 1, 1, kMany},
    {"crc", "N", Form::kInteger, Number::kCrc, kNotGiven, 1, kMany},
    {"down", "true", Form::kChoice, Number::kDown, kNotGiven, 0, 0, kFlags},
    {"error", "sbe|dbe", Form::kChoice, Number::kEccError, kNotGiven, 0, 0, kEccErrors},
    {"factor", "0.6", Form::kMillionths, Number::kFactorPpm, kNotGiven, 0, 1},
    {"fields", "ID|NAME,...", Form::kFields},
    {"for", "T", Form::kFor},
    {"form", "http2|message", Form::kChoice, Number::kForm, 0, 0, 0, kGarbageForms},
    {"gen", "N", Form::kInteger, Number::kGeneration, kNotGiven, 1, 7},
    {"gpu", "N", Form::kGpu},
    {"how", "gone|refuses", Form::kChoice, Number::kHow, 0, 0, 0, kAbsences},
    {"layout", "PROFILE,...", Form::kLayout},
    {"link", "N", Form::kInteger, Number::kLink, kNotGiven, 0, 35},
    {"location", "device|l1|l2|register|texture|shared|cbu|sram", Form::kChoice, Number::kLocation,
     0, 0, 0, kEccLocations},
    {"mode", "enabled|disabled", Form::kChoice, Number::kMigMode, kNotGiven, 0, 0, kModes},
    {"ms", "N", Form::kInteger, Number::kMs, kNotGiven, 1, 3'600'000},
    {"number", "N", Form::kInteger, Number::kXid, kNotGiven, 1, 999},
    {"of", "KIND", Form::kOf},
    {"ramp", "T", Form::kDuration, Number::kRampUs},
    {"reason", "no_value|not_found|not_supported|not_permitted", Form::kChoice, Number::kReason,
     static_cast<int64_t>(BlankReason::kNotSupported), 0, 0, kReasons},
    {"recovery", "N", Form::kInteger, Number::kRecovery, kNotGiven, 1, kMany},
    {"replay", "N", Form::kInteger, Number::kReplay, kNotGiven, 1, kMany},
    {"restart_after", "T", Form::kFor},
    {"s", "SECONDS", Form::kInteger, Number::kSeconds, kNotGiven, -kMany, kMany},
    {"size", "16MiB", Form::kBytes, Number::kSizeBytes, kHugeReplyBytes},
    {"sync", "T", Form::kDuration, Number::kSyncUs, kKubeletSyncUs},
    {"target", "call|value", Form::kChoice, Number::kTarget, 0, 0, 0, kTargets},
    {"version", "3.x|4.2.0", Form::kVersion},
    {"watts", "W", Form::kMillionths, Number::kLimitMw},  // Bounds are the board's.
    {"why", "power|thermal|hw|brake", Form::kChoice, Number::kWhy, kNotGiven, 0, 0,
     kThrottleReasons},
    {"width", "N", Form::kInteger, Number::kWidth, kNotGiven, 1, 16},
    {"xid", "N", Form::kInteger, Number::kXid, 79, 1, 999},
});
static_assert(std::ranges::is_sorted(kFaultKeys, {}, &FaultKey::name));

using enum FaultKind;
using Claim = FaultClaim;
constexpr bool kNeeded = true;

// In the order of FaultKind.
constexpr auto kRows = std::to_array<FaultRow>({
    {kApiDown,
     "api_down",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server's port refuses connections, and open ones end"},
    {kApiForbidden,
     "api_forbidden",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server ends its watches and answers 403: with a short `for` as a server that "
     "is starting, otherwise as for a missing right"},
    {kApiGarbage,
     "api_garbage",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server ends its watches and answers text that is not JSON"},
    {kApiGone,
     "api_gone",
     Claim::kNothing,  // Also while it is down: an outage may outlast its versions.
     false,
     {{}},
     "the API server ends its watches and has dropped its history: a watch from an older "
     "version gets 410"},
    {kApiRateLimited,
     "api_rate_limited",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server ends its watches and answers 429 in plain text, with Retry-After 1, "
     "2, 4 and 8 s"},
    {kApiSilent,
     "api_silent",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server keeps its watches open and sends nothing on them, not even bookmarks; at the "
     "end they get what they missed"},
    {kApiSlow,
     "api_slow",
     Claim::kApi,
     true,
     {{{"ms", kNeeded}, {"for"}}},
     "the API server ends its watches and delays each answer by this time"},
    {kApiTokenExpired,
     "api_token_expired",
     Claim::kApi,
     true,
     {{{"for"}}},
     "the API server ends its watches and answers 401; afterwards the token's file has a new "
     "token"},
    {kBindUnbind,
     "bind_unbind",
     Claim::kPresence,
     true,
     {{{"gpu"}, {"for"}}},
     "the driver is unbound from a GPU, or from all: field 6 reads 1, at the end 2; status 7, "
     "blanks"},
    {kBlank,
     "blank",
     Claim::kValues,
     true,
     {{{"gpu"}, {"fields"}, {"reason"}, {"for"}}},
     "values are the DCGM blank of the reason, status 0"},
    {kClockJump,
     "clock_jump",
     Claim::kNothing,
     true,
     {{{"s", kNeeded}, {"for"}}},
     "time stamps jump by this many seconds; measured values do not change"},
    {kDriverMismatch,
     "driver_mismatch",
     Claim::kDriver,
     true,
     {{{"for"}}},
     "library and driver have different versions: starting an engine answers -7"},
    {kDriverReload,
     "driver_reload",
     Claim::kPresence,
     true,
     {{{"for", kNeeded}}},
     "no driver: values are blank, no engine starts (-7), a remote one ends and returns "
     "with it; energy, volatile ECC counts and XIDs restart from 0"},
    {kEcc,
     "ecc",
     Claim::kNothing,
     false,
     {{{"gpu", kNeeded}, {"error", kNeeded}, {"count"}, {"location"}}},
     "memory errors are counted; double-bit ones retire pages or remap rows"},
    {kEngineHang,
     "engine_hang",
     Claim::kEngine,
     true,
     {{{"for"}}},
     "the remote engine is stopped with SIGSTOP"},
    {kEngineKill,
     "engine_kill",
     Claim::kEngine,
     true,
     {{{"restart_after"}}},
     "the remote engine is killed; a new one starts after the time, or when healed"},
    {kEngineVersion,
     "engine_version",
     Claim::kEngineVersion,
     true,
     {{{"version", kNeeded}, {"for"}}},
     "the engine is of this release: it refuses newer struct versions with -12"},
    {kError,
     "error",
     Claim::kCalls,
     true,
     {{{"calls"}, {"code", kNeeded}, {"target"}, {"fields"}, {"gpu"}, {"for"}}},
     "calls return the code: below 0 for DCGM, above 0 for NVML; with target=value, values "
     "have it as their status"},
    {kGarbage,
     "garbage",
     Claim::kValues,
     true,
     {{{"gpu"}, {"fields"}, {"calls"}, {"for"}}},
     "values are the largest integers, NaN and texts without an end; structs that `calls` fill "
     "likewise"},
    {kGpuAbsent,
     "gpu_absent",
     Claim::kPresence,
     true,
     {{{"gpu", kNeeded}, {"for"}}},
     "an engine that starts during the fault does not find the GPU; later GPUs move up"},
    {kGpuDetached,
     "gpu_detached",
     Claim::kPresence,
     true,
     {{{"gpu", kNeeded}, {"for"}}},
     "like bind_unbind, for one GPU"},
    {kGpuLost,
     "gpu_lost",
     Claim::kPresence,
     true,
     {{{"gpu", kNeeded}, {"xid"}, {"for"}}},
     "the GPU falls off the bus: an XID, status 4 after 1 s, values blank with new stamps"},
    {kHang,
     "hang",
     Claim::kCalls,
     true,
     {{{"calls"}, {"gpu"}, {"for"}}},
     "calls do not return; without `calls`, or for nvml*, the driver hangs: samples stop "
     "and calls that ask the driver block"},
    {kHeal,
     "heal",
     Claim::kNothing,
     false,
     {{{"of"}}},
     "ends the faults that the control log began, or those of one kind"},
    {kKubeletDenied,
     "kubelet_denied",
     Claim::kKubelet,
     true,
     {{{"for"}}},
     "opening the kubelet's socket is denied"},
    {kKubeletDown,
     "kubelet_down",
     Claim::kKubelet,
     true,
     {{{"how"}, {"for"}}},
     "the kubelet's socket is missing, or refuses connections"},
    {kKubeletGarbage,
     "kubelet_garbage",
     Claim::kKubelet,
     true,
     {{{"form"}, {"for"}}},
     "the kubelet answers bytes that are not HTTP/2, or not a message"},
    {kKubeletHttpsDown,
     "kubelet_https_down",
     Claim::kKubeletHttps,
     true,
     {{{"for"}}},
     "the port on which the kubelet serves /pods refuses connections, and open ones end"},
    {kKubeletHttpsForbidden,
     "kubelet_https_forbidden",
     Claim::kKubeletHttps,
     true,
     {{{"for"}}},
     "the kubelet answers 403 to /pods, as for a missing right"},
    {kKubeletHttpsUnauthorized,
     "kubelet_https_unauthorized",
     Claim::kKubeletHttps,
     true,
     {{{"for"}}},
     "the kubelet answers 401 to /pods, as when it accepts no tokens"},
    {kKubeletHuge,
     "kubelet_huge",
     Claim::kKubelet,
     true,
     {{{"size"}, {"for"}}},
     "the kubelet's reply has this size"},
    {kKubeletRateLimited,
     "kubelet_rate_limited",
     Claim::kKubelet,
     true,
     {{{"for"}}},
     "the kubelet rejects every call by its rate limit"},
    {kKubeletRestart,
     "kubelet_restart",
     Claim::kKubelet,
     true,
     {{{"sync"}, {"for"}}},
     "the kubelet ends and returns on a new socket after `for` (1 s); it lists no pods, then "
     "the static ones, then all after `sync` or when the API server is back",
     1'000'000},
    {kKubeletSlow,
     "kubelet_slow",
     Claim::kKubelet,
     true,
     {{{"ms", kNeeded}, {"for"}}},
     "the kubelet delays each reply by this time"},
    {kKubeletV1Missing,
     "kubelet_v1_missing",
     Claim::kKubelet,
     true,
     {{{"for"}}},
     "the kubelet speaks v1alpha1 only"},
    {kMigMode,
     "mig_mode",
     Claim::kLayout,
     false,
     {{{"gpu", kNeeded}, {"mode", kNeeded}}},
     "MIG mode turns on, without instances, or off"},
    {kMigSet,
     "mig_set",
     Claim::kLayout,
     false,
     {{{"gpu", kNeeded}, {"layout", kNeeded}}},
     "the GPU gets different instances with new UUIDs; an empty layout ends MIG mode"},
    {kNoNvml,
     "no_nvml",
     Claim::kDriver,
     true,
     {{{"for"}}},
     "an engine that starts during the fault finds no NVML: no GPUs, hierarchy -56"},
    {kNoPermission,
     "no_permission",
     Claim::kValues,
     true,
     {{{"gpu"}, {"fields"}, {"calls"}, {"for"}}},
     "values are blank for missing permission, or NVML's `calls` answer 4"},
    {kNodata,
     "nodata",
     Claim::kValues,
     true,
     {{{"gpu"}, {"fields"}, {"for"}}},
     "fields are watched but have no sample: status -14, stamp 0"},
    {kNvlink,
     "nvlink",
     Claim::kNvlink,
     true,
     {{{"gpu", kNeeded}, {"link", kNeeded}, {"down"}, {"crc"}, {"replay"}, {"recovery"}, {"for"}}},
     "a link goes down, or its error counters rise"},
    {kPcie,
     "pcie",
     Claim::kPcieLink,
     true,
     {{{"gpu", kNeeded}, {"replay"}, {"gen"}, {"width"}, {"for"}}},
     "the replay counter rises; the link runs at another generation or width"},
    {kPowerLimit,
     "power_limit",
     Claim::kPowerLimit,
     true,
     {{{"gpu", kNeeded}, {"watts", kNeeded}, {"for"}}},
     "another power limit, for this time or until the next one"},
    {kSlow,
     "slow",
     Claim::kCalls,
     true,
     {{{"calls", kNeeded}, {"ms", kNeeded}, {"gpu"}, {"for"}}},
     "calls take this much longer"},
    {kThermal,
     "thermal",
     Claim::kAmbient,
     true,
     {{{"gpu", kNeeded}, {"ambient_c", kNeeded}, {"ramp"}, {"for"}}},
     "the air around the GPU has this temperature; the GPU's own follows"},
    {kThrottle,
     "throttle",
     Claim::kClocks,
     true,
     {{{"gpu", kNeeded}, {"why", kNeeded}, {"factor", kNeeded}, {"for"}}},
     "clocks fall to this part, with the event reason; power falls with their cube"},
    {kWatchPartial,
     "watch_partial",
     Claim::kWatching,
     true,
     {{{"gpu"}, {"for"}}},
     "watching answers -33 and leaves the profiling fields out"},
    {kWatchStale,
     "watch_stale",
     Claim::kSampling,
     true,
     {{{"gpu"}, {"fields"}, {"for"}}},
     "samples stop, status 0, as when the engine forgets a watch"},
    {kXid,
     "xid",
     Claim::kXid,
     false,
     {{{"gpu", kNeeded}, {"number", kNeeded}}},
     "the driver reports an XID, which field 230 then shows"},
});
static_assert(kRows.size() == kFaultKindCount);

constexpr bool RowsStandInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<FaultKind>(i) ||
        (i > 0 && kRows[i].name < kRows[i - 1].name)) {
      return false;
    }
    for (const FaultKeyUse& use : kRows[i].keys) {
      if (!use.name.empty() &&
          !std::ranges::binary_search(kFaultKeys, use.name, {}, &FaultKey::name)) {
        return false;
      }
    }
  }
  return true;
}
static_assert(RowsStandInOrder());

constexpr auto kNames = [] {
  std::array<Words, kRows.size()> names;
  std::ranges::transform(kRows, names.begin(), &FaultRow::name);
  return names;
}();

constexpr Words kLost = "lost";  // Short for gpu_lost.

}  // namespace

std::span<const FaultKeyUse> FaultRow::Keys() const {
  const auto* const end = std::ranges::find(keys, Words(), &FaultKeyUse::name);
  return {keys.begin(), end};
}

std::span<const FaultRow> FaultRows() { return kRows; }

const FaultRow& RowOf(FaultKind kind) { return kRows.at(static_cast<size_t>(kind)); }

const FaultRow* FindFaultRow(std::string_view name) {
  const auto* const found =
      std::ranges::find(kRows, name == kLost ? RowOf(kGpuLost).name : name, &FaultRow::name);
  return found == kRows.end() ? nullptr : found;
}

const FaultKey& FaultKeyNamed(std::string_view name) {
  return *std::ranges::lower_bound(kFaultKeys, name, {}, &FaultKey::name);
}

std::span<const std::string_view> FaultNames() { return kNames; }

std::string FaultHelp() {
  std::string text =
      "kinds, with their keys as key=value ([...] is optional; without `for` a fault lasts until\n"
      "`podgpu-sim heal`):\n\n";
  for (const FaultRow& row : kRows) {
    if (row.kind == kHeal) {
      continue;  // It is a separate command.
    }
    text += "  " + std::string(row.name);
    for (const FaultKeyUse& use : row.Keys()) {
      const std::string word =
          std::string(use.name) + "=" + std::string(FaultKeyNamed(use.name).value);
      text += use.needed ? " " + word : " [" + word + "]";
    }
    text += "\n      " + std::string(row.help) + "\n";
  }
  return text;
}

}  // namespace podgpu::sim
