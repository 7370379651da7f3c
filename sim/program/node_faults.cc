#include "sim/program/node_faults.h"

#include <algorithm>
#include <chrono>

#include "sim/scenario/fault_table.h"

namespace podgpu::sim {
namespace {

constexpr uint64_t kEngineFaults = FaultBit(FaultKind::kEngineKill) |
                                   FaultBit(FaultKind::kEngineHang) |
                                   FaultBit(FaultKind::kDriverReload);
constexpr uint64_t kKubeletFaults =
    FaultBit(FaultKind::kKubeletDenied) | FaultBit(FaultKind::kKubeletDown) |
    FaultBit(FaultKind::kKubeletGarbage) | FaultBit(FaultKind::kKubeletHuge) |
    FaultBit(FaultKind::kKubeletRateLimited) | FaultBit(FaultKind::kKubeletRestart) |
    FaultBit(FaultKind::kKubeletSlow) | FaultBit(FaultKind::kKubeletV1Missing);
constexpr uint64_t kApiFaults = FaultBit(FaultKind::kApiDown) | FaultBit(FaultKind::kApiForbidden) |
                                FaultBit(FaultKind::kApiGarbage) | FaultBit(FaultKind::kApiGone) |
                                FaultBit(FaultKind::kApiRateLimited) |
                                FaultBit(FaultKind::kApiSilent) | FaultBit(FaultKind::kApiSlow) |
                                FaultBit(FaultKind::kApiTokenExpired);

constexpr uint64_t kHttpsFaults = FaultBit(FaultKind::kKubeletHttpsDown) |
                                  FaultBit(FaultKind::kKubeletHttpsForbidden) |
                                  FaultBit(FaultKind::kKubeletHttpsUnauthorized);

bool EndsTheEngine(FaultKind kind) {
  return kind == FaultKind::kEngineKill || kind == FaultKind::kDriverReload;
}

void Apply(const Fault& fault, KubeletBehaviour& behaviour) {
  using Socket = KubeletBehaviour::Socket;
  switch (fault.kind) {
    case FaultKind::kKubeletRestart:
      behaviour.socket = Socket::kRefusing;  // A killed kubelet leaves its socket file.
      break;
    case FaultKind::kKubeletDown:
      behaviour.socket = fault.As<KubeletAbsence>(FaultNumber::kHow) == KubeletAbsence::kGone
                             ? Socket::kGone
                             : Socket::kRefusing;
      break;
    case FaultKind::kKubeletGarbage:
      if (fault.As<GarbageForm>(FaultNumber::kForm) == GarbageForm::kNoHttp2) {
        behaviour.socket = Socket::kNoHttp2;
      } else {
        behaviour.is_garbled = true;
      }
      break;
    case FaultKind::kKubeletSlow:
      behaviour.delay = std::chrono::milliseconds(fault.Amount(FaultNumber::kMs));
      break;
    case FaultKind::kKubeletHuge:
      behaviour.reply_bytes = fault.Amount(FaultNumber::kSizeBytes);
      break;
    case FaultKind::kKubeletV1Missing:
      behaviour.is_without_v1 = true;
      break;
    case FaultKind::kKubeletDenied:
      behaviour.is_denied = true;
      break;
    case FaultKind::kKubeletRateLimited:
      behaviour.is_rate_limited = true;
      break;
    default:
      break;  // Faults of other parts.
  }
}

void ApplyToApi(const Fault& fault, ApiBehaviour& behaviour) {
  switch (fault.kind) {
    case FaultKind::kApiDown:
      behaviour.is_down = true;
      break;
    case FaultKind::kApiForbidden:
      behaviour.is_forbidden = true;
      break;
    case FaultKind::kApiGarbage:
      behaviour.is_garbled = true;
      break;
    case FaultKind::kApiRateLimited:
      behaviour.is_rate_limited = true;
      break;
    case FaultKind::kApiSilent:
      behaviour.is_silent = true;
      break;
    case FaultKind::kApiSlow:
      behaviour.delay = std::chrono::milliseconds(fault.Amount(FaultNumber::kMs));
      break;
    case FaultKind::kApiTokenExpired:
      behaviour.is_token_old = true;
      break;
    default:
      break;  // Faults of other parts, or momentary ones.
  }
}

// Until when a restarted kubelet lacks pods: it reads static pods from files at once and gets the
// others from the API server.
TimeUs SyncedAt(const World& world, const Fault& restart) {
  TimeUs synced = restart.until + restart.Amount(FaultNumber::kSyncUs);
  for (const Fault& fault : world.faults()) {  // By start.
    if (fault.kind == FaultKind::kApiDown && fault.InForce(synced)) {
      synced = fault.until;
    }
  }
  return synced;
}

KubeletBehaviour::Listing ListingAfter(const World& world, const Fault& restart, TimeUs t) {
  constexpr int64_t kShareWithoutPods = 3;  // One third of the time.
  using Listing = KubeletBehaviour::Listing;
  if (t < restart.until || t >= SyncedAt(world, restart)) {
    return Listing::kAll;
  }
  const TimeUs first_us = restart.Amount(FaultNumber::kSyncUs) / kShareWithoutPods;
  return t < restart.until + first_us ? Listing::kNoPods : Listing::kStaticPods;
}

// The names of the `kinds` that are in force.
std::string WordsAt(const World& world, TimeUs t, uint64_t kinds) {
  std::string words;
  for (const Fault& fault : world.faults()) {
    if (fault.InForce(t) && (FaultBit(fault.kind) & kinds) != 0 && RowOf(fault.kind).lasts) {
      words += (words.empty() ? "" : ", ") + std::string(RowOf(fault.kind).name);
    }
  }
  return words.empty() ? "well" : words;
}

}  // namespace

EngineOrders EngineOrdersAt(const World& world, TimeUs t) {
  EngineOrders orders;
  if ((world.fault_kinds() & kEngineFaults) == 0) {
    return orders;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.at <= t && EndsTheEngine(fault.kind)) {
      ++orders.kills;
      orders.is_away = orders.is_away || fault.InForce(t);
    }
  }
  orders.is_stopped = world.FaultAt(FaultKind::kEngineHang, t) != nullptr;
  return orders;
}

KubeletBehaviour KubeletBehaviourAt(const World& world, TimeUs t) {
  KubeletBehaviour behaviour;
  if ((world.fault_kinds() & kKubeletFaults) == 0) {
    return behaviour;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.kind == FaultKind::kKubeletRestart && fault.at <= t) {
      ++behaviour.start;
      behaviour.listing = std::max(behaviour.listing, ListingAfter(world, fault, t));
    }
    if (fault.InForce(t)) {
      Apply(fault, behaviour);
    }
  }
  return behaviour;
}

// A kubelet without its socket does not run, so its port is closed too.
KubeletHttpsBehaviour KubeletHttpsBehaviourAt(const World& world, TimeUs t) {
  KubeletHttpsBehaviour behaviour;
  if ((world.fault_kinds() & (kKubeletFaults | kHttpsFaults)) == 0) {
    return behaviour;
  }
  const KubeletBehaviour kubelet = KubeletBehaviourAt(world, t);
  behaviour.is_down = kubelet.socket == KubeletBehaviour::Socket::kGone ||
                      kubelet.socket == KubeletBehaviour::Socket::kRefusing ||
                      world.FaultAt(FaultKind::kKubeletHttpsDown, t) != nullptr;
  behaviour.is_forbidden = world.FaultAt(FaultKind::kKubeletHttpsForbidden, t) != nullptr;
  behaviour.is_unauthorized = world.FaultAt(FaultKind::kKubeletHttpsUnauthorized, t) != nullptr;
  behaviour.listing = kubelet.listing;
  return behaviour;
}

ApiBehaviour ApiBehaviourAt(const World& world, TimeUs t) {
  ApiBehaviour behaviour;
  if ((world.fault_kinds() & kApiFaults) == 0) {
    return behaviour;
  }
  for (const Fault& fault : world.faults()) {
    if (fault.at <= t) {
      behaviour.forgotten += fault.kind == FaultKind::kApiGone ? 1 : 0;
      behaviour.tokens += fault.kind == FaultKind::kApiTokenExpired ? 1 : 0;
    }
    if (fault.InForce(t)) {
      ApplyToApi(fault, behaviour);
    }
  }
  return behaviour;
}

std::string KubeletWordsAt(const World& world, TimeUs t) {
  switch (KubeletBehaviourAt(world, t).listing) {
    case KubeletBehaviour::Listing::kNoPods:
      return "starting, lists no pods";
    case KubeletBehaviour::Listing::kStaticPods:
      return "starting, lists static pods";
    case KubeletBehaviour::Listing::kAll:
      break;
  }
  return WordsAt(world, t, kKubeletFaults);
}

std::string ApiWordsAt(const World& world, TimeUs t) { return WordsAt(world, t, kApiFaults); }

std::string KubeletHttpsWordsAt(const World& world, TimeUs t) {
  return KubeletHttpsBehaviourAt(world, t).is_down ? "down" : WordsAt(world, t, kHttpsFaults);
}

bool HasServerFaultsAfter(const World& world, TimeUs t) {
  return (world.fault_kinds() & (kEngineFaults | kKubeletFaults | kHttpsFaults | kApiFaults)) !=
             0 &&
         (world.NextFaultChange(t) != INT64_MAX ||
          KubeletBehaviourAt(world, t).listing != KubeletBehaviour::Listing::kAll);
}

}  // namespace podgpu::sim
