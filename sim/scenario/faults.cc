// Reads `faults:` and the control log: each entry by the row of its kind and the table of keys.
#include <algorithm>

#include "base/text.h"
#include "fields/field.h"
#include "sim/scenario/fault_table.h"
#include "sim/scenario/parts.h"
#include "sim/scenario/vendor_calls.h"

namespace podgpu::sim {

namespace {

using Words = std::string_view;

constexpr size_t kMostListed = 64;  // Calls and fields of one fault.

// The elements of a list, or a single value in place of a list.
std::vector<Cursor> ListOrOne(const Cursor& list) {
  return list.IsScalar() ? std::vector<Cursor>{list} : list.Elements();
}

// The row that `kind` names, or null with an error.
const FaultRow* ReadKind(const Cursor& kind) {
  const std::string text = kind.Text("");
  const FaultRow* const row = FindFaultRow(text);
  if (row == nullptr && !text.empty()) {
    kind.Choice(FaultNames(), 0);  // Complains and names the nearest kind.
  }
  return row;
}

bool MatchesAny(Words pattern, std::span<const Words> names) {
  return std::ranges::any_of(names, [&](Words name) { return GlobMatches(pattern, name); });
}

// Reads the keys of one entry.
class FaultReader {
 public:
  FaultReader(const Cursor& entry, const FaultRow& row, const Scenario& scenario)
      : entry_(entry), row_(row), scenario_(scenario) {
    fault_.kind = row.kind;
    fault_.place = entry.place();
    fault_.numbers.fill(kNotGiven);
  }

  FaultSpec Read() {
    std::vector<Words> known = {"at", "kind"};
    for (const FaultKeyUse& use : row_.Keys()) {
      known.push_back(use.name);
    }
    entry_.ExpectKeys(known);
    fault_.at_us = entry_.Need("at").DurationUs(0);
    if (row_.lasts && row_.usual_us > 0) {
      fault_.until_us = fault_.at_us + row_.usual_us;
    } else if (!row_.lasts) {
      fault_.until_us = fault_.at_us + 1;
    }
    for (const FaultKeyUse& use : row_.Keys()) {
      const Cursor value = use.needed ? entry_.Need(use.name) : entry_.Key(use.name);
      ReadKey(FaultKeyNamed(use.name), value);
    }
    CheckTogether();
    return std::move(fault_);
  }

 private:
  void ReadKey(const FaultKey& key, const Cursor& value) {
    int64_t number = key.otherwise;
    switch (key.form) {
      case FaultKeyForm::kGpu:
        fault_.gpu = value.present() ? ReadGpuIndex(value, scenario_) : -1;
        return;
      case FaultKeyForm::kFor:
        ReadFor(value);
        return;
      case FaultKeyForm::kCalls:
        ReadCalls(value);
        return;
      case FaultKeyForm::kFields:
        ReadFields(value);
        return;
      case FaultKeyForm::kLayout:
        fault_.layout = ReadMigLayout(value);
        return;
      case FaultKeyForm::kVersion:
        ReadVersion(value);
        return;
      case FaultKeyForm::kOf:
        ReadOf(value);
        return;
      case FaultKeyForm::kDuration:
        number = value.DurationUs(number);
        break;
      case FaultKeyForm::kInteger:
        number = value.Integer(number, key.least, key.most);
        break;
      case FaultKeyForm::kMillionths:
        number = ReadMillionths(key, value);
        break;
      case FaultKeyForm::kBytes:
        number = value.Bytes(number);
        break;
      case FaultKeyForm::kChoice:
        number = value.present() ? static_cast<int64_t>(value.Choice(key.words, 0)) : number;
        break;
    }
    fault_.numbers.at(static_cast<size_t>(key.number)) = number;
  }

  void ReadFor(const Cursor& value) {
    if (!value.present()) {
      return;
    }
    const TimeUs lasts_us = value.DurationUs(1);
    if (lasts_us == 0) {
      value.Fail("must be above 0; leave it out for a fault that lasts until it is healed");
    }
    fault_.until_us = fault_.at_us + lasts_us;
  }

  // Watts, degrees and factors, in thousandths or millionths as the world counts them.
  int64_t ReadMillionths(const FaultKey& key, const Cursor& value) const {
    constexpr int64_t kMillion = 1'000'000;
    constexpr int64_t kPerThousandth = 1'000;
    if (!value.present()) {
      return key.otherwise;
    }
    if (key.number == FaultNumber::kFactorPpm) {
      return value.Millionths(kMillion, key.least * kMillion, key.most * kMillion);
    }
    if (key.number == FaultNumber::kLimitMw) {
      const GpuClass* const figures = Figures();
      if (figures == nullptr) {
        return key.otherwise;
      }
      const int64_t least_mw = std::max(figures->min_limit_mw, figures->idle_mw + 1);
      return value.Millionths(figures->limit_mw * kPerThousandth, least_mw * kPerThousandth,
                              figures->max_limit_mw * kPerThousandth) /
             kPerThousandth;
    }
    return value.Millionths(key.least * kMillion, key.least * kMillion, key.most * kMillion) /
           kPerThousandth;
  }

  void ReadCalls(const Cursor& value) {
    const std::vector<Cursor> elements = ListOrOne(value);
    if (elements.size() > kMostListed) {
      value.Fail("at most " + std::to_string(kMostListed) + " patterns; use '*'");
      return;
    }
    const bool waits = row_.kind == FaultKind::kHang || row_.kind == FaultKind::kSlow;
    for (const Cursor& element : elements) {
      const std::string pattern = element.Text("");
      if (pattern.empty()) {
        continue;
      }
      const bool nvml = MatchesAny(pattern, NvmlCalls());
      if (!nvml && !MatchesAny(pattern, DcgmCalls())) {
        const auto nearest = Nearest(pattern, DcgmCalls());
        element.Fail("'" + Printable(pattern) + "' matches no call that can fail" +
                     (nearest ? "; nearest is '" + std::string(*nearest) + "'" : ""));
      }
      fault_.calls.push_back(pattern);
      if (nvml && waits) {
        SetReachesDriver();
      }
    }
  }

  void SetReachesDriver() {
    fault_.numbers.at(static_cast<size_t>(FaultNumber::kReachesDriver)) = 1;
  }

  void ReadFields(const Cursor& value) {
    const std::vector<Cursor> elements = ListOrOne(value);
    if (elements.size() > kMostListed) {
      value.Fail("at most " + std::to_string(kMostListed) + " fields; leave the key out for all");
      return;
    }
    for (const Cursor& element : elements) {
      const std::string text = element.Text("");
      if (text.empty()) {
        continue;
      }
      const std::optional<uint64_t> id = ParseDecimal(text);
      const Field* const field =
          !id ? FindFieldByName(text)
              : (*id <= UINT16_MAX ? FindField(static_cast<uint16_t>(*id)) : nullptr);
      if (field == nullptr) {
        element.Fail("found '" + Printable(text) +
                     "'; must be the number or the name of a DCGM field, such as 150 or "
                     "DCGM_FI_DEV_GPU_TEMP");
        continue;
      }
      fault_.fields.push_back(field->id);
    }
  }

  // "3.x", "4.x" or the three numbers of a release of either.
  void ReadVersion(const Cursor& value) {
    fault_.version = value.Text("4.x");
    const Words text = fault_.version;
    const auto digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    const bool generation = text == "3.x" || text == "4.x";
    const bool release = text.size() == 5 && (text[0] == '3' || text[0] == '4') && text[1] == '.' &&
                         digit(2) && text[3] == '.' && digit(4);
    if (!generation && !release) {
      value.Fail("found '" + Printable(text) + "'; must be 3.x, 4.x or a release such as 4.2.0");
    }
  }

  void ReadOf(const Cursor& value) {
    if (value.present()) {
      const FaultRow* const row = ReadKind(value);
      fault_.heals = row == nullptr ? FaultKind::kHeal : row->kind;
    }
  }

  const GpuClass* Figures() const {
    if (fault_.gpu < 0 || scenario_.gpus.empty()) {
      return nullptr;
    }
    const GpuSpec& gpu = scenario_.gpus.at(static_cast<size_t>(fault_.gpu));
    return &scenario_.classes.at(gpu.class_index).figures;
  }

  bool HasAny(std::initializer_list<FaultNumber> numbers) const {
    return std::ranges::any_of(numbers, [this](FaultNumber number) { return fault_.Has(number); });
  }

  // Checks that need several keys together.
  void CheckTogether() {
    using enum FaultNumber;
    const GpuClass* const figures = Figures();
    switch (fault_.kind) {
      case FaultKind::kHang:
        if (fault_.calls.empty()) {
          fault_.calls = {"nvml*"};
          SetReachesDriver();
        }
        break;
      case FaultKind::kError:
        if (fault_.Get(kTarget) == static_cast<int64_t>(ErrorTarget::kCall) &&
            fault_.calls.empty()) {
          entry_.Fail("key 'calls' is missing; or write target: value");
        }
        CheckCode();
        break;
      case FaultKind::kNoPermission:
        if (MeansOthers(NvmlCalls(), DcgmCalls())) {
          entry_.Key("calls").Fail("only calls of NVML can fail for missing permission");
        }
        break;
      case FaultKind::kNvlink:
        CheckLink(figures);
        break;
      case FaultKind::kPcie:
        if (!HasAny({kReplay, kGeneration, kWidth})) {
          entry_.Fail("one of the keys replay, gen, width is missing");
        }
        break;
      case FaultKind::kEcc:
        if (figures != nullptr && (figures->flags & kHasEcc) == 0) {
          entry_.Fail("GPU " + std::to_string(fault_.gpu) + " has no ECC");
        }
        break;
      case FaultKind::kThermal:
        if (fault_.Has(kRampUs) && fault_.Get(kRampUs) > fault_.until_us - fault_.at_us) {
          entry_.Fail("the ramp is longer than the fault");
        }
        break;
      default:
        break;
    }
  }

  // Whether a pattern matches only calls of the other library.
  bool MeansOthers(std::span<const Words> own, std::span<const Words> others) const {
    return std::ranges::any_of(fault_.calls, [&](const std::string& pattern) {
      return !MatchesAny(pattern, own) && MatchesAny(pattern, others);
    });
  }

  // A code and the calls that return it must belong to one library.
  void CheckCode() const {
    const int64_t code = fault_.Get(FaultNumber::kCode);
    if (code == 0) {
      entry_.Key("code").Fail("0 is success; write a code below 0 of DCGM, or above of NVML");
    } else if (code < 0 && code != kNotGiven && MeansOthers(DcgmCalls(), NvmlCalls())) {
      entry_.Key("code").Fail("a call of NVML cannot answer this; its codes are above 0");
    } else if (code > 0 && MeansOthers(NvmlCalls(), DcgmCalls())) {
      entry_.Key("code").Fail("a call of DCGM cannot answer this; its codes are below 0");
    }
  }

  void CheckLink(const GpuClass* figures) const {
    using enum FaultNumber;
    if (!HasAny({kDown, kCrc, kReplay, kRecovery})) {
      entry_.Fail("one of the keys down, crc, replay, recovery is missing");
    }
    if (figures == nullptr) {
      return;
    }
    const int count = scenario_.nvlink_per_gpu < 0
                          ? figures->nvlink_count
                          : std::min(figures->nvlink_count, scenario_.nvlink_per_gpu);
    if (fault_.Get(kLink) >= count) {
      entry_.Fail("GPU " + std::to_string(fault_.gpu) + " has " + std::to_string(count) +
                  " links; found link " + std::to_string(fault_.Get(kLink)));
    }
  }

  const Cursor& entry_;
  const FaultRow& row_;
  const Scenario& scenario_;
  FaultSpec fault_;
};

void ReadFault(const Cursor& entry, bool from_control, Scenario& scenario) {
  if (!entry.IsMap()) {
    entry.Fail("must be a map with keys at, kind and the keys of that kind");
    return;
  }
  const Cursor kind = entry.Need("kind");
  const FaultRow* const row = ReadKind(kind);
  if (row == nullptr) {
    return;
  }
  if (row->kind == FaultKind::kHeal && !from_control) {
    kind.Fail("heal is for the control log; give the fault its time with 'for'");
    return;
  }
  FaultSpec fault = FaultReader(entry, *row, scenario).Read();
  fault.from_control = from_control;
  scenario.faults.push_back(std::move(fault));
}

}  // namespace

void ReadFaults(const Cursor& faults, bool from_control, Scenario& scenario) {
  for (const Cursor& entry : faults.Elements()) {
    ReadFault(entry, from_control, scenario);
  }
}

}  // namespace podgpu::sim
