// What a check of the doctor found out, and the result of all checks.
//
// A finding is one fact; unless it is ok, it also names the features that are lost and, for warn
// and fail, one change that helps.  Keys of features and ids of checks are stable, texts are not.
// Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podgpu {

// kNote: works and could give more.  kWarn: something asked for is missing.  kFail: no device data.
enum class Severity : uint8_t { kOk, kNote, kWarn, kFail, kSkip };
inline constexpr size_t kSeverityCount = 5;

// Returns "ok", "note", "warn", "fail" or "skip".
std::string_view SeverityName(Severity severity);

// Something that podgpu gives or does not give.
struct Feature {
  std::string_view key;    // "process_energy"
  std::string_view words;  // "process and pod energy"
};
// Returns the words of the feature with `key`.
std::string_view FeatureWords(std::string_view key);

struct Finding {
  Severity severity = Severity::kOk;
  std::string fact = {};               // One sentence without a full stop.
  std::vector<std::string> lose = {};  // Keys of features.
  std::string remedy = {};             // One change that can be copied; lines end with "\\\n".
  std::string change = {};             // The remedy in a few words; empty: not the most useful one.
  std::string caused_by = {};          // For a skipped check: the id of the check that failed.
  std::vector<std::pair<std::string, std::string>> evidence = {};
  bool is_configuration = false;  // The exporter would refuse to start.
  bool blocks = false;            // Checks that build on this one are skipped.

  static Finding Ok(std::string fact) {
    return {.severity = Severity::kOk, .fact = std::move(fact)};
  }
  static Finding Skip(std::string fact) {
    return {.severity = Severity::kSkip, .fact = std::move(fact)};
  }
};

struct CheckResult {
  std::string_view id, section;
  Finding finding;
  double ms = 0;
};

// Whether a feature works in the configuration that was checked.
struct Gift {
  std::string_view feature;  // Key of the feature.
  bool available = false;
  bool asked = true;         // The configuration asks for it.
  std::string_view because;  // The id of a check; empty when available or not asked for.
};

struct DoctorResult {
  std::string version, host;
  bool in_container = false;
  std::vector<CheckResult> checks = {};  // Results in the order of the table.
  std::vector<Gift> gives = {};
  double seconds = 0;

  size_t CountOf(Severity severity) const;
  // 0: everything asked for works; 1: a warn; 2: wrong configuration; 3: a fail.
  int exit_code() const;
  // Returns the result of a check, or null.
  const CheckResult* Find(std::string_view id) const;
};

}  // namespace podgpu
