// The faults as a whole: which one ends another, which contradict each other, and their records.
#include <algorithm>
#include <string>

#include "sim/scenario/compile_parts.h"
#include "sim/scenario/fault_table.h"
#include "sim/scenario/vendor_calls.h"

namespace podgpu::sim {

namespace {

constexpr size_t kMostFaults = 4'096;

// A heal ends what the control log began.  A power limit without an end lasts until the next one.
void Heal(const FaultSpec& heal, std::vector<FaultSpec>& faults) {
  for (FaultSpec& fault : faults) {
    const bool meant = fault.from_control && (!heal.heals || *heal.heals == fault.kind);
    const bool undone = fault.kind == FaultKind::kPowerLimit && fault.until_us == kForever;
    if (meant && !undone && RowOf(fault.kind).lasts && fault.at_us < heal.at_us) {
      fault.until_us = std::min(fault.until_us, heal.at_us);
    }
  }
}

// The claim of the fault; some kinds claim something only with some of their keys.
FaultClaim ClaimOf(const FaultSpec& fault) {
  using enum FaultNumber;
  const bool on_values = fault.kind == FaultKind::kError &&
                         fault.Get(kTarget) == static_cast<int64_t>(ErrorTarget::kValue);
  const bool adds =
      (fault.kind == FaultKind::kPcie && !fault.Has(kGeneration) && !fault.Has(kWidth)) ||
      (fault.kind == FaultKind::kNvlink && fault.Get(kDown) != 1);
  if (adds) {
    return FaultClaim::kNothing;
  }
  return on_values ? FaultClaim::kValues : RowOf(fault.kind).claim;
}

TimeUs ClaimEnd(const FaultSpec& fault) {
  const bool gives_way = fault.kind == FaultKind::kPowerLimit && fault.until_us == kForever;
  return gives_way ? fault.at_us + 1 : fault.until_us;
}

bool FieldsMeet(const FaultSpec& a, const FaultSpec& b) {
  return a.fields.empty() || b.fields.empty() || std::ranges::any_of(a.fields, [&](uint32_t field) {
           return std::ranges::find(b.fields, field) != b.fields.end();
         });
}

bool CallsMeet(const FaultSpec& a, const FaultSpec& b) {
  const auto matches = [](const FaultSpec& fault, std::string_view name) {
    return std::ranges::any_of(
        fault.calls, [name](const std::string& pattern) { return GlobMatches(pattern, name); });
  };
  const auto both = [&](std::string_view name) { return matches(a, name) && matches(b, name); };
  return std::ranges::any_of(DcgmCalls(), both) || std::ranges::any_of(NvmlCalls(), both);
}

// Whether two faults of the same claim at the same time affect the same object.
bool Meet(const FaultSpec& a, const FaultSpec& b, FaultClaim claim) {
  if (a.gpu >= 0 && b.gpu >= 0 && a.gpu != b.gpu) {
    return false;
  }
  switch (claim) {
    case FaultClaim::kCalls:
      return CallsMeet(a, b);
    case FaultClaim::kValues:
    case FaultClaim::kSampling:
      return FieldsMeet(a, b);
    case FaultClaim::kNvlink:
      return a.Get(FaultNumber::kLink) == b.Get(FaultNumber::kLink);
    default:
      return true;
  }
}

// Complains at the later of two faults that contradict each other; `faults` are by start.
void CheckClaims(const Compilation& work, const std::vector<FaultSpec>& faults) {
  std::vector<const FaultSpec*> held;
  for (const FaultSpec& fault : faults) {
    const FaultClaim claim = ClaimOf(fault);
    if (claim == FaultClaim::kNothing) {
      continue;
    }
    std::erase_if(held, [&](const FaultSpec* one) { return ClaimEnd(*one) <= fault.at_us; });
    const auto other = std::ranges::find_if(held, [&](const FaultSpec* one) {
      return ClaimOf(*one) == claim && Meet(*one, fault, claim);
    });
    if (other != held.end()) {
      const FaultSpec& one = **other;
      const int gpu = fault.gpu >= 0 ? fault.gpu : one.gpu;
      work.Fail(fault, one.place.path + " (" + std::string(RowOf(one.kind).name) +
                           ") is already in force" +
                           (gpu >= 0 ? " on GPU " + std::to_string(gpu) : "") + " from " +
                           Seconds(one.at_us) + " to " + Seconds(one.until_us) + "; end it first");
    }
    held.push_back(&fault);
  }
}

}  // namespace

void PlanFaults(Compilation& work) {
  std::vector<FaultSpec>& faults = work.scenario.faults;
  if (faults.size() > kMostFaults) {
    work.Fail(faults[kMostFaults], std::to_string(faults.size()) + " faults; the limit is " +
                                       std::to_string(kMostFaults));
    return;
  }
  std::ranges::stable_sort(faults, {}, &FaultSpec::at_us);
  const auto is_heal = [](const FaultSpec& fault) { return fault.kind == FaultKind::kHeal; };
  for (const FaultSpec& fault : faults) {
    if (is_heal(fault)) {
      Heal(fault, faults);
    }
  }
  std::erase_if(faults, is_heal);
  CheckClaims(work, faults);
}

void WriteFaults(Compilation& work) {
  ImageBuilder& image = work.image;
  for (const FaultSpec& fault : work.scenario.faults) {
    FaultRecord record{};
    record.at_us = fault.at_us;
    record.until_us = fault.until_us;
    record.kind = static_cast<uint32_t>(fault.kind);
    record.gpu = fault.gpu;
    record.calls = {CountOf(image.fault_calls), CountOf(fault.calls)};
    record.fields = {CountOf(image.fault_fields), CountOf(fault.fields)};
    record.version = image.Text(fault.version);
    record.numbers = fault.numbers;
    for (const std::string& pattern : fault.calls) {
      image.fault_calls.push_back(image.Text(pattern));
    }
    image.fault_fields.insert(image.fault_fields.end(), fault.fields.begin(), fault.fields.end());
    image.faults.push_back(record);
  }
}

}  // namespace podgpu::sim
