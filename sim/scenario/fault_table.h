// How each kind of fault is written in a scenario, in the control log and on the command line.
//
// One table of kinds and one of their keys (fault_table.cc): the reader of scenarios checks entries
// against them, `podgpu-sim fault --help` prints them, and a new kind is one row.  No two faults
// may make the same claim at the same time.  Constants; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/world/fault.h"

namespace podgpu::sim {

// The claim of a fault while it is in force.
enum class FaultClaim : uint8_t {
  kNothing,  // The fault only adds to a counter.
  kPresence,
  kDriver,
  kCalls,
  kValues,
  kSampling,
  kWatching,
  kClocks,
  kAmbient,
  kPowerLimit,
  kLayout,
  kPcieLink,
  kNvlink,
  kXid,
  kEngine,
  kEngineVersion,
  kKubelet,
  kKubeletHttps,
  kApi,
};

// The type of a key's value.
enum class FaultKeyForm : uint8_t {
  kGpu,
  kFor,  // How long.
  kCalls,
  kFields,
  kLayout,
  kVersion,
  kOf,  // The name of a kind.
  kDuration,
  kInteger,
  kMillionths,
  kBytes,
  kChoice,
};

struct FaultKey {
  std::string_view name;   // "gpu"
  std::string_view value;  // "N", shown in help.
  FaultKeyForm form;
  FaultNumber number{};  // The fault's number that it sets.
  int64_t otherwise = kNotGiven;
  int64_t least = 0, most = 0;  // In the unit of the text.
  std::span<const std::string_view> words{};
};

// A key of a kind, and whether it must be given.
struct FaultKeyUse {
  std::string_view name;
  bool needed = false;
};

struct FaultRow {
  FaultKind kind;
  std::string_view name;
  FaultClaim claim;
  bool lasts;  // False for a momentary fault, whose effect stays.
  std::array<FaultKeyUse, 7> keys;
  std::string_view help;
  TimeUs usual_us = 0;  // Duration without `for`; 0: until it is healed.

  // The keys of the kind.
  std::span<const FaultKeyUse> Keys() const;
};

std::span<const FaultRow> FaultRows();
const FaultRow& RowOf(FaultKind kind);
// By name or short name; null when there is none.
const FaultRow* FindFaultRow(std::string_view name);
const FaultKey& FaultKeyNamed(std::string_view name);

// Every kind with its keys and a line on its effect, for `podgpu-sim fault --help`.
std::string FaultHelp();

// The known names, among which the nearest one for a complaint is found.
std::span<const std::string_view> FaultNames();

}  // namespace podgpu::sim
